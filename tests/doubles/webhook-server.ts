import { createHmac, timingSafeEqual } from 'node:crypto';
import { type StandInAnswer, StandInServer } from './stand-in-server.ts';

/** A message as the webhook received it. */
export interface WebhookCall {
  // biome-ignore lint/suspicious/noExplicitAny: the route decides about the body
  body: any;
  /** By which it can answer later. */
  token: string | undefined;
}

/** Settings of the stand-in. */
export interface WebhookStandInOptions {
  /** Requests without a valid signature are refused. Default: no signature is needed. */
  secret?: string;
  /** Default: `{"output": "Echo: <text>"}`. */
  answer?(call: WebhookCall): StandInAnswer | Promise<StandInAnswer>;
}

/** A webhook on loopback that checks signatures as the documentation says. */
export function startWebhookServer(options: WebhookStandInOptions = {}): Promise<StandInServer> {
  const { secret, answer } = options;
  return StandInServer.start(({ method, headers, body }) => {
    if (method === 'GET' || method === 'HEAD') return { status: 405 };
    if (secret !== undefined && !isSigned(secret, headers, body))
      return { status: 401, body: 'wrong signature' };
    const token = headers['x-wa2ai-reply-token'];
    const call = { body: JSON.parse(body), token: typeof token === 'string' ? token : undefined };
    return answer?.(call) ?? { body: { output: `Echo: ${call.body.text}` } };
  });
}

function isSigned(
  secret: string,
  headers: Record<string, string | string[] | undefined>,
  body: string,
): boolean {
  const timestamp = String(headers['x-wa2ai-timestamp']);
  const expected = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest();
  const given = Buffer.from(String(headers['x-wa2ai-signature']).replace('sha256=', ''), 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
