import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Logger } from '../core/ports/logger.ts';
import type { MediaStore } from '../core/ports/media-store.ts';
import { AgentTransport } from '../infra/agents/transport/agent-transport.ts';
import { Egress } from '../infra/agents/transport/egress.ts';
import { systemClock } from '../infra/clock/system-clock.ts';
import { DiskMediaStore } from '../infra/media/disk-media-store.ts';
import { ReplyFileStores } from '../infra/media/media-location.ts';
import { S3MediaStore } from '../infra/media/s3-media-store.ts';

/** The stores of files that this node can read, and where new files go. */
export function mediaStores(config: Pick<Config, 'media' | 'dataDir'>, log: Logger) {
  const { store, dir, maxBytes, s3 } = config.media;
  // The operator names the S3 server, so that no egress rule applies.
  const transport = new AgentTransport(new Egress('any'));
  const stores: MediaStore[] = [
    new DiskMediaStore({ folder: dir ?? join(config.dataDir, 'media'), maxBytes }),
    ...(s3 ? [new S3MediaStore(s3, { transport, clock: systemClock })] : []),
  ];
  const files = new ReplyFileStores({ stores, use: store === 'database' ? undefined : store, log });
  return { stores, files };
}
