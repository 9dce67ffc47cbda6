-- Versions of WhatsApp Web: those that wa2ai found or announced, since when WhatsApp refuses one, and the last search for all nodes.
-- CreateTable
CREATE TABLE "whatsapp_version" (
    "version" TEXT NOT NULL,
    "first_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "refused_at" TIMESTAMPTZ(3),

    CONSTRAINT "whatsapp_version_pkey" PRIMARY KEY ("version")
);

-- CreateTable
CREATE TABLE "whatsapp_version_look_up" (
    "id" INTEGER NOT NULL,
    "begun_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),
    "found_at" TIMESTAMPTZ(3),
    "version" TEXT,
    "url" TEXT,

    CONSTRAINT "whatsapp_version_look_up_pkey" PRIMARY KEY ("id")
);
