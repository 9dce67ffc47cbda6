import { createHmac } from 'node:crypto';

/**
 * The headers that show that a request is from wa2ai, and when it was made: `X-Wa2ai-Timestamp`, Unix seconds, and
 * `X-Wa2ai-Signature`, `sha256=` and the HMAC-SHA256 in hexadecimal of the timestamp, a dot, and the bytes of the body. A
 * receiver that checks the time too cannot be sent an old request again.
 */
export function signatureHeaders(secret: string, body: string, nowMs: number): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const digest = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
  return { 'x-wa2ai-timestamp': timestamp, 'x-wa2ai-signature': `sha256=${digest}` };
}
