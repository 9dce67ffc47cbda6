-- People who sign in to the console, their sessions, and attempts to sign in.

-- AlterTable
ALTER TABLE "audit_entry" ADD COLUMN     "user_name" TEXT;

-- CreateTable
CREATE TABLE "console_user" (
    "key" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "password_hash" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "disabled_at" TIMESTAMPTZ(3),

    CONSTRAINT "console_user_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "console_session" (
    "id" TEXT NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "user_key" TEXT,
    "admin_key_mac" BYTEA,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "user_agent" TEXT,
    "address" TEXT,

    CONSTRAINT "console_session_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "login_attempt" (
    "key" TEXT NOT NULL,
    "count" INTEGER NOT NULL,
    "last_at" TIMESTAMPTZ(3) NOT NULL,
    "allowed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "login_attempt_pkey" PRIMARY KEY ("key")
);

-- CreateIndex
CREATE UNIQUE INDEX "console_session_token_hash_key" ON "console_session"("token_hash");

-- CreateIndex
CREATE INDEX "console_session_user_key_idx" ON "console_session"("user_key");

-- AddForeignKey
ALTER TABLE "console_session" ADD CONSTRAINT "console_session_user_key_fkey" FOREIGN KEY ("user_key") REFERENCES "console_user"("key") ON DELETE CASCADE ON UPDATE CASCADE;
