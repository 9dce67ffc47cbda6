-- CreateTable
CREATE TABLE "person_session" (
    "account_id" TEXT NOT NULL,
    "person" TEXT NOT NULL,
    "number" INTEGER NOT NULL DEFAULT 1,
    "started_at" TIMESTAMPTZ(3),
    "started_by" BIGINT,
    "used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "chat_ids" BIGINT[],

    CONSTRAINT "person_session_pkey" PRIMARY KEY ("account_id", "person")
);
