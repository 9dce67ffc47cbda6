-- Keys of session locks that another role of the server took. A start that is blocked so creates the table itself.
CREATE TABLE IF NOT EXISTS "lock_key" (
    "name" TEXT NOT NULL,
    "key" INTEGER NOT NULL,

    CONSTRAINT "lock_key_pkey" PRIMARY KEY ("name")
);
