-- Every change of the route table is a version (prisma/functions/routes.sql).

-- CreateTable
CREATE TABLE "route_version" (
    "number" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "action" TEXT NOT NULL,
    "caller" TEXT,
    "key_id" TEXT,
    "restored" INTEGER,

    CONSTRAINT "route_version_pkey" PRIMARY KEY ("number")
);

-- CreateTable
CREATE TABLE "route_version_change" (
    "version" INTEGER NOT NULL,
    "route_id" UUID NOT NULL,
    "account_id" TEXT NOT NULL,
    "before" JSONB,
    "after" JSONB,

    CONSTRAINT "route_version_change_pkey" PRIMARY KEY ("version","route_id")
);

-- CreateIndex
CREATE INDEX "route_version_change_account_id_idx" ON "route_version_change"("account_id");

-- AddForeignKey
ALTER TABLE "route_version_change" ADD CONSTRAINT "route_version_change_version_fkey" FOREIGN KEY ("version") REFERENCES "route_version"("number") ON DELETE CASCADE ON UPDATE CASCADE;
