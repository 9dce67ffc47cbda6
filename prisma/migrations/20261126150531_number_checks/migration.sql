-- Answers of WhatsApp to the question whether a number has an account, by which nobody is asked about twice.
-- CreateTable
CREATE TABLE "number_check" (
    "account_id" TEXT NOT NULL,
    "phone" TEXT NOT NULL,
    "is_on_whatsapp" BOOLEAN NOT NULL,
    "checked_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "number_check_pkey" PRIMARY KEY ("account_id","phone")
);

-- CreateIndex
CREATE INDEX "number_check_checked_at_idx" ON "number_check"("checked_at");
