-- Functions are no longer part of migrations. Their current text is in prisma/functions, and this table says which text
-- the database has. Those of the first migration are replaced at the next start.

-- CreateTable
CREATE TABLE "sql_functions" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "sha256" TEXT NOT NULL,
    "names" TEXT[],
    "applied_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "sql_functions_pkey" PRIMARY KEY ("id")
);
