-- By which an agent answers a message later (POST /api/replies/{token}).
CREATE TABLE "reply_token" (
    "token_hash" BYTEA NOT NULL,
    "message_id" BIGINT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),

    CONSTRAINT "reply_token_pkey" PRIMARY KEY ("token_hash")
);

-- CreateIndex
CREATE INDEX "reply_token_message_id_idx" ON "reply_token"("message_id");

-- CreateIndex
CREATE INDEX "reply_token_expires_at_idx" ON "reply_token"("expires_at");

-- AddForeignKey
ALTER TABLE "reply_token" ADD CONSTRAINT "reply_token_message_id_fkey" FOREIGN KEY ("message_id") REFERENCES "message"("id") ON DELETE CASCADE ON UPDATE CASCADE;
