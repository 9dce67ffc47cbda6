-- Files of people, stored when they are first loaded. Nodes of the release before do not know the table.
-- CreateTable
CREATE TABLE "message_file" (
    "message_id" BIGINT NOT NULL,
    "bytes" BYTEA,
    "store" TEXT,
    "location" TEXT,
    "stored_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "message_file_pkey" PRIMARY KEY ("message_id")
);

-- CreateIndex
CREATE INDEX "message_file_stored_at_idx" ON "message_file"("stored_at");

-- CreateIndex
CREATE UNIQUE INDEX "message_file_store_location_key" ON "message_file"("store", "location");

-- AddForeignKey
ALTER TABLE "message_file" ADD CONSTRAINT "message_file_message_id_fkey" FOREIGN KEY ("message_id") REFERENCES "message"("id") ON DELETE CASCADE ON UPDATE CASCADE;
