import { AgentProtocolError, AgentTimeoutError, AgentUnavailableError } from '../../core/errors.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { withLimit } from '../../core/time-limit.ts';
import type { ServedTask, ServedUpdate } from '../tasks/served-tasks.ts';
import { artifactEventOf, type StreamEvent, stateEventOf, taskOf } from './a2a-wire.ts';
import type { UpdatePart } from './push-updates.ts';
import type { SigningKey } from './signing-key.ts';
import type { TaskHook } from './task-hooks.ts';

const TIMEOUT_MS = 10_000;
/** The answer of a receiver says nothing. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** One HTTP exchange to a public address, without redirects; `fault` says how it failed. */
export interface PushTransport {
  fetch(
    url: string,
    options: { method: 'POST'; headers: Headers; body: string; signal: AbortSignal; maxBytes: number },
  ): Promise<{ kind: 'answer'; status: number } | { kind: 'fault'; fault: string; detail: string }>;
}

export interface PushSenderDeps {
  transport: PushTransport;
  key(): Promise<Pick<SigningKey, 'tokenFor'>>;
  clock: Clock;
}

/**
 * Sends a part of an update of a task to its receiver, signed, as the version of the hook writes it.
 * @throws {AgentUnavailableError} {AgentTimeoutError} it may help to send it again
 * @throws {AgentProtocolError} the receiver refuses it, or is at an address that wa2ai may not use
 */
export async function sendPush(
  { transport, key, clock }: PushSenderDeps,
  hook: TaskHook,
  task: ServedTask,
  update: ServedUpdate,
  part: UpdatePart,
  stopping: AbortSignal,
): Promise<void> {
  // Version 0.3 gets the whole task with the state.
  if (part === 'artifact' && hook.version === '0.3') return;
  const event = part === 'artifact' ? artifactEventOf(task, update) : stateEventOf(task, update);
  if (!event) return;
  const signer = await key();
  const then = { ...task, updates: task.updates.slice(0, update.number) };
  const { body, contentType } = await serialized(hook, event, then);
  const headers = headersOf(hook);
  headers.set('content-type', contentType);
  headers.set('x-wa2ai-signature', signer.tokenFor(body, clock.now()));
  const fetched = await withLimit(clock, TIMEOUT_MS, stopping, (signal) =>
    transport.fetch(hook.url, { method: 'POST', headers, body, signal, maxBytes: MAX_ANSWER_BYTES }),
  );
  stopping.throwIfAborted();
  if (fetched.kind === 'answer') refuse(fetched.status);
  else if (fetched.fault === 'refused') {
    throw new AgentProtocolError(`The receiver was not called: ${fetched.detail}.`, {
      code: 'AGENT_ADDRESS_REFUSED',
    });
    // A receiver that answers a lot has got it.
  } else if (fetched.fault !== 'too-large') {
    throw new AgentTimeoutError(`The receiver did not take an update of a task: ${fetched.fault}.`);
  }
}

/** @throws {AgentProtocolError} an older version stored what no header can have */
function headersOf({ token, authentication }: TaskHook): Headers {
  const headers = new Headers();
  try {
    if (token !== undefined) headers.set('x-a2a-notification-token', token);
    if (authentication) {
      headers.set('authorization', `${authentication.scheme} ${authentication.credentials}`);
    }
    return headers;
  } catch (error) {
    // The reason of the platform repeats the value.
    if (!(error instanceof TypeError)) throw error;
    throw new AgentProtocolError(
      'The token or the credentials of a push notification config have characters that a header cannot have. Set the config again.',
    );
  }
}

async function serialized(
  hook: TaskHook,
  event: StreamEvent,
  task: ServedTask,
): Promise<{ body: string; contentType: string }> {
  if (hook.version === '1.0') {
    const { V1PushNotificationSerializer } = await import('@a2a-js/sdk/server');
    return new V1PushNotificationSerializer().serialize(event);
  }
  const { V03PushNotificationSerializer } = await import('@a2a-js/sdk/compat/v0_3/server');
  return new V03PushNotificationSerializer().serialize(event, taskOf(task));
}

/** @throws the error of a status that is not a success */
function refuse(status: number): void {
  if (status >= 200 && status < 300) return;
  const sentence = `The receiver of a push notification answered status ${status}.`;
  if (status === 408 || status === 429 || status >= 500) throw new AgentUnavailableError(sentence);
  throw new AgentProtocolError(sentence);
}
