-- The name of a group, which the messages of before wa2ai heard it do not have.
-- AlterTable
ALTER TABLE "chat" ADD COLUMN     "group_name" TEXT;
