import type { Clock } from '../../core/ports/clock.ts';
import { withLimit } from '../../core/time-limit.ts';
import type { AgentTransport } from '../../infra/agents/transport/agent-transport.ts';
import { retryAfterMs } from '../../infra/agents/transport/not-taken.ts';
import { signatureHeaders } from '../../infra/agents/webhook/webhook-signature.ts';
import type { AttemptFailure } from './after-failure.ts';
import { type EventToSend, eventBody } from './event-body.ts';
import { ATTEMPT_LIMIT_MS } from './webhook-dispatcher.ts';

/** What a receiver answers says nothing. */
const MAX_ANSWER_BYTES = 64 * 1024;

export interface SendEventDeps {
  transport: Pick<AgentTransport, 'fetch'>;
  clock: Clock;
}

/**
 * Sends an event to its receiver, once, signed with the time of this attempt. Any 2xx status counts as delivered. The sentence
 * of a failure contains nothing that the receiver answered.
 * @throws the signal's reason when `stopping` aborts
 */
export async function sendEvent(
  { transport, clock }: SendEventDeps,
  event: EventToSend & { url: string; secret?: string },
  stopping: AbortSignal,
): Promise<{ status: number } | AttemptFailure> {
  const { url, secret } = event;
  if (secret === undefined) {
    return { error: 'The secret of the webhook cannot be decrypted: set another one.' };
  }
  const body = JSON.stringify(eventBody(event));
  const headers = new Headers({
    'content-type': 'application/json',
    'idempotency-key': event.eventId,
    ...signatureHeaders(secret, body, clock.now()),
  });
  const fetched = await withLimit(clock, ATTEMPT_LIMIT_MS, stopping, (signal) =>
    transport.fetch(url, { method: 'POST', headers, body, signal, maxBytes: MAX_ANSWER_BYTES }),
  );
  stopping.throwIfAborted();
  if (fetched.kind === 'answer') {
    const { status } = fetched;
    if (status >= 200 && status < 300) return { status };
    const waitMs = retryAfterMs(fetched.headers, clock.now());
    const advice = status >= 300 && status < 400 ? ' Redirects are not followed: set the new address.' : '';
    return {
      status,
      error: `The receiver answered status ${status}.${advice}`,
      ...(waitMs !== undefined && { retryAfterMs: waitMs }),
    };
  }
  switch (fetched.fault) {
    // The beginning of a success.
    case 'too-large':
      return { status: 200 };
    case 'aborted':
      return { error: `The receiver did not answer within ${ATTEMPT_LIMIT_MS / 1_000} seconds.` };
    case 'refused':
      return { error: `The receiver was not called: ${fetched.detail}.` };
    case 'not-connected':
      return { error: `Cannot connect to the receiver: ${fetched.detail}.` };
    default:
      return { error: `The receiver ended the connection before its answer: ${fetched.detail}.` };
  }
}
