-- Saved conversations with invented people, run as tests.
-- CreateTable
CREATE TABLE "playground_scenario" (
    "id" BIGSERIAL NOT NULL,
    "name" TEXT NOT NULL,
    "yaml" TEXT NOT NULL,
    "saved_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "playground_scenario_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "playground_scenario_name_key" ON "playground_scenario"("name");
