-- What the conversation policies remember of a chat.
ALTER TABLE "chat" ADD COLUMN     "policy_state" JSONB;
