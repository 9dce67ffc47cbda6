/** How many messages of an account leave, and how long "typing..." is shown before each. */
export interface SendPaceSettings {
  messages: { perSecond: number; burst: number };
  typing: { charsPerSecond: number; maxMs: number };
}

/** A token bucket: what it had at a time of a clock that never goes back. */
export interface Bucket {
  tokens: number;
  atMs: number;
}

/** What a sum of parts of a token may lack. */
const ROUNDING = 1e-6;

/** Full, whatever its size. */
export const FULL_BUCKET: Bucket = { tokens: Number.POSITIVE_INFINITY, atMs: 0 };

/**
 * Takes a token for one message. In any time at most `burst` and `perSecond` for each second of it are taken. Pure.
 * @returns `waitMs` 0: taken; else how long until there is one, and nothing was taken
 */
export function takeToken(
  { tokens, atMs }: Bucket,
  { perSecond, burst }: SendPaceSettings['messages'],
  nowMs: number,
): { bucket: Bucket; waitMs: number } {
  if (perSecond === 0) return { bucket: FULL_BUCKET, waitMs: 0 };
  const filled = Math.min(burst, tokens + (Math.max(0, nowMs - atMs) / 1_000) * perSecond);
  if (filled > 1 - ROUNDING) return { bucket: { tokens: Math.max(0, filled - 1), atMs: nowMs }, waitMs: 0 };
  return { bucket: { tokens: filled, atMs: nowMs }, waitMs: Math.ceil(((1 - filled) / perSecond) * 1_000) };
}

/** How long a person would type the text, in milliseconds; 0: nothing is shown. Pure. */
export function typingMsOf(text: string, { charsPerSecond, maxMs }: SendPaceSettings['typing']): number {
  return charsPerSecond === 0 ? 0 : Math.min(maxMs, Math.round((text.length / charsPerSecond) * 1_000));
}
