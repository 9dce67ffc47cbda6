import { call } from '../../api/call.ts';

const LIMIT = 500;

/**
 * Replays every open dead letter of a reason, oldest first. Each is reached once, also when it fails again meanwhile.
 * @param reason absent: of every reason
 * @returns how many were replayed
 */
export async function replayAll(reason: string | undefined): Promise<number> {
  let replayed = 0;
  let cursor: string | undefined;
  for (;;) {
    const body = {
      limit: LIMIT,
      ...(reason !== undefined && { reason }),
      ...(cursor !== undefined && { cursor }),
    };
    const page = await call('POST /api/dead-letters/replay', { body });
    replayed += page.replayed;
    if (page.next === undefined) return replayed;
    cursor = page.next;
  }
}
