-- Tasks that wa2ai does for programs, questions to people, and settings that are changed while wa2ai runs. Nodes of an older version
-- would give answers to questions to the agents of routes, so they must stop.
-- CreateTable
CREATE TABLE "served_task" (
    "id" TEXT NOT NULL,
    "context_id" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "account_id" TEXT,
    "state" TEXT NOT NULL DEFAULT 'submitted',
    "request" JSONB,
    "messages" JSONB NOT NULL,
    "message_id" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "served_task_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "served_task_update" (
    "task_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "key" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "text" TEXT,
    "artifact" JSONB,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "served_task_update_pkey" PRIMARY KEY ("task_id","number")
);

-- CreateTable
CREATE TABLE "served_task_hook" (
    "task_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "secret" TEXT NOT NULL,
    "version" TEXT NOT NULL,
    "sent" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "served_task_hook_pkey" PRIMARY KEY ("task_id","id")
);

-- CreateTable
CREATE TABLE "person_question" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "chat_id" BIGINT NOT NULL,
    "state" TEXT NOT NULL DEFAULT 'waiting',
    "created_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "asked_at" TIMESTAMPTZ(3),
    "remind_at" TIMESTAMPTZ(3) NOT NULL,
    "deadline_at" TIMESTAMPTZ(3) NOT NULL,
    "answer_message_id" BIGINT,
    "answer" TEXT,
    "answered_at" TIMESTAMPTZ(3),

    CONSTRAINT "person_question_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "face_setting" (
    "face" TEXT NOT NULL,
    "settings" JSONB NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "face_setting_pkey" PRIMARY KEY ("face")
);

-- CreateIndex
CREATE INDEX "served_task_owner_updated_at_id_idx" ON "served_task"("owner", "updated_at", "id");

-- CreateIndex
CREATE INDEX "served_task_state_updated_at_idx" ON "served_task"("state", "updated_at");

-- CreateIndex
CREATE INDEX "served_task_account_id_idx" ON "served_task"("account_id");

-- CreateIndex
CREATE UNIQUE INDEX "served_task_owner_message_id_key" ON "served_task"("owner", "message_id");

-- CreateIndex
CREATE UNIQUE INDEX "served_task_update_task_id_key_key" ON "served_task_update"("task_id", "key");

-- CreateIndex
CREATE INDEX "person_question_chat_id_state_idx" ON "person_question"("chat_id", "state");

-- CreateIndex
CREATE INDEX "person_question_state_idx" ON "person_question"("state");

-- CreateIndex
CREATE INDEX "person_question_account_id_idx" ON "person_question"("account_id");

-- CreateIndex
CREATE UNIQUE INDEX "person_question_answer_message_id_key" ON "person_question"("answer_message_id");

-- AddForeignKey
ALTER TABLE "served_task_update" ADD CONSTRAINT "served_task_update_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "served_task"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "served_task_hook" ADD CONSTRAINT "served_task_hook_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "served_task"("id") ON DELETE CASCADE ON UPDATE CASCADE;
