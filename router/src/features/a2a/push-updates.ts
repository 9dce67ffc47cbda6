import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  randomUUID,
  sign,
} from 'node:crypto';
import type { TaskPushNotificationConfig } from '@a2a-js/sdk';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { z } from 'zod';
import { backoffMs, type Clock, withLimit } from '../../core/clock.ts';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  isRetryable,
  Wa2aiError,
} from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { Said } from '../../core/phrases.ts';
import type { SettingsStore } from '../../core/ports/settings-store.ts';
import type { DurableTasks, TaskInput, TaskResult, TaskStart, TaskSteps } from '../../core/tasks.ts';
import type { AgentTransport } from '../../infra/agents/transport/agent-transport.ts';
import type { SecretCipher } from '../../infra/db/encryption/secret-cipher.ts';
import { isEnd, type ServedTask, type ServedUpdate } from '../tasks/served-tasks.ts';
import type { TaskFeed, TaskWatch } from '../tasks/task-feed.ts';
import { artifactEventOf, type StreamEvent, stateEventOf, taskOf } from './a2a-wire.ts';
import type { NewTaskHook, TaskHook, TaskHooks } from './task-hooks.ts';

/** A receiver that takes nothing for so long gets nothing more. */
const MAX_AWAY_MS = 86_400_000;
const MAX_WAIT_MS = 600_000;

/** What is sent by one request. An update with a result has two parts, the result first. */
export type UpdatePart = 'artifact' | 'state';

interface PushUpdatesDeps {
  hooks: Pick<TaskHooks, 'get' | 'markSent' | 'delete'>;
  feed: Pick<TaskFeed, 'watch'>;
  /**
   * Sends a part of an update to its receiver. @throws {Wa2aiError} it was not taken; with the disposition `dead` no repeat
   * helps
   */
  send(
    hook: TaskHook,
    task: ServedTask,
    update: ServedUpdate,
    part: UpdatePart,
    signal: AbortSignal,
  ): Promise<void>;
  /** Whether the owner of a task may still see it: false when its key was revoked. @throws {StorageUnavailableError} */
  mayReceive(owner: string): Promise<boolean>;
  clock: Clock;
  /** Uniform in [0, 1). */
  random(): number;
  log: Logger;
}

/**
 * Sends the updates of a task to a hook, in order, until the task has ended. One durable step: after a crash it continues
 * with the first update that is not marked as sent, so a receiver may get one update twice.
 */
export async function pushUpdates(
  deps: PushUpdatesDeps,
  steps: TaskSteps,
  { taskId, hookId }: TaskInput<'push-updates'>,
): Promise<TaskResult<'push-updates'>> {
  const outcome = await steps.run('push', async () => {
    const watch = deps.feed.watch(taskId);
    try {
      return await pushUntilEnd(deps, watch, { taskId, hookId }, steps.stopping);
    } finally {
      watch.close();
    }
  });
  return { outcome };
}

/** Waits as long as the receiver or the database does not answer. @throws the reason of `stopping` */
async function pushUntilEnd(
  deps: PushUpdatesDeps,
  watch: TaskWatch,
  { taskId, hookId }: TaskInput<'push-updates'>,
  stopping: AbortSignal,
): Promise<string> {
  const { hooks, clock, log } = deps;
  let awaySinceMs: number | undefined;
  /** Parts of the next update that the receiver has got. */
  let partsSent = 0;
  for (let failures = 0; ; ) {
    stopping.throwIfAborted();
    try {
      const hook = await hooks.get(taskId, hookId);
      if (!hook) return 'deleted';
      const task = await watch.next(hook.sent, stopping);
      const update = task?.updates[hook.sent];
      if (!task || !update) return 'gone';
      if (!(await deps.mayReceive(task.owner))) {
        await hooks.delete(taskId, hookId);
        return 'revoked';
      }
      for (const part of partsOf(update).slice(partsSent)) {
        await deps.send(hook, task, update, part, stopping);
        partsSent += 1;
      }
      await hooks.markSent(taskId, hookId, update.number);
      partsSent = 0;
      if (isEnd(update.state)) return 'completed';
      failures = 0;
      awaySinceMs = undefined;
    } catch (error) {
      stopping.throwIfAborted();
      failures += 1;
      awaySinceMs ??= clock.monotonicMs();
      const isDead = error instanceof Wa2aiError && !isRetryable(error) && error.disposition === 'dead';
      const isTooLong = clock.monotonicMs() - awaySinceMs > MAX_AWAY_MS;
      log.warn({ err: error, task: taskId, hook: hookId, attempt: failures }, 'update of a task not pushed');
      if (isDead || isTooLong) {
        await hooks.delete(taskId, hookId);
        return 'given up';
      }
      await clock.sleep(
        backoffMs({ attempt: failures, baseMs: 1_000, maxMs: MAX_WAIT_MS, random: deps.random }),
        stopping,
      );
    }
  }
}

function partsOf({ artifact }: ServedUpdate): UpdatePart[] {
  return artifact ? ['artifact', 'state'] : ['state'];
}

/** The durable task that sends updates to a hook; one that is set again gets a new one. */
export function pushUpdatesStart({
  taskId,
  id,
  createdAt,
}: Pick<TaskHook, 'taskId' | 'id' | 'createdAt'>): TaskStart {
  return {
    kind: 'push-updates',
    id: `push-${taskId}-${createdAt.getTime()}-${id}`,
    input: { taskId, hookId: id },
  };
}

const TIMEOUT_MS = 10_000;
/** The answer of a receiver says nothing. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** One HTTP exchange to a public address, without redirects; `fault` says how it failed. */
export interface PushTransport {
  fetch(
    url: string,
    options: { method: 'POST'; headers: Headers; body: string; signal: AbortSignal; maxBytes: number },
  ): Promise<{ kind: 'answer'; status: number } | { kind: 'fault'; fault: string; detail: Said }>;
}

interface PushSenderDeps {
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
    throw new AgentProtocolError(
      { sentence: `The receiver was not called: ${fetched.detail.sentence}.` },
      {
        code: 'AGENT_ADDRESS_REFUSED',
      },
    );
    // A receiver that answers a lot has got it.
  } else if (fetched.fault !== 'too-large') {
    throw new AgentTimeoutError({
      sentence: `The receiver did not take an update of a task: ${fetched.fault}.`,
    });
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
    throw new AgentProtocolError({
      sentence:
        'The token or the credentials of a push notification config have characters that a header cannot have. Set the config again.',
    });
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
  if (status === 408 || status === 429 || status >= 500) throw new AgentUnavailableError({ sentence });
  throw new AgentProtocolError({ sentence });
}

/** Where the key is stored, among the settings of servers. */
export const PUSH_KEY = 'a2a-push-key';
/** Context of the encrypted key; it never changes. */
export const PUSH_KEY_CONTEXT = 'face_setting.a2a-push-key';
const storedKey = z.object({ pem: z.string() });

/** Encrypts what is stored. */
type TextCipher = Pick<SecretCipher, 'sealText' | 'openText'>;

/** By which receivers of push notifications know that they are from this wa2ai (ES256, RFC 7518). */
export interface SigningKey {
  /** A JSON Web Token (RFC 7519) over the bytes of a body, with the time. */
  tokenFor(body: string, nowMs: number): string;
  /** The JSON Web Key Set (RFC 7517) with the public key. */
  keySet(): { keys: Array<Record<string, unknown>> };
  /** Another secret of 32 bytes for this purpose, the same on all nodes (HKDF, RFC 5869). */
  derive(purpose: string): Uint8Array;
}

/** The key of all nodes of this database; made when it is first used. @throws {StorageUnavailableError} */
export async function signingKey(settings: SettingsStore, cipher: TextCipher): Promise<SigningKey> {
  const stored = storedKey.safeParse(await settings.get(PUSH_KEY));
  const { pem } = stored.success ? stored.data : await storeNewKey(settings, cipher);
  return keyOf(cipher.openText(pem, PUSH_KEY_CONTEXT));
}

/** @returns what is stored: another node may have been first */
async function storeNewKey(settings: SettingsStore, cipher: TextCipher): Promise<z.output<typeof storedKey>> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  return storedKey.parse(await settings.putFirst(PUSH_KEY, { pem: cipher.sealText(pem, PUSH_KEY_CONTEXT) }));
}

function keyOf(pem: string): SigningKey {
  const key = createPrivateKey(pem);
  const { kty, crv, x, y } = createPublicKey(key).export({ format: 'jwk' });
  // RFC 7638.
  const kid = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
  return {
    derive: (purpose) => new Uint8Array(hkdfSync('sha256', pem, '', purpose, 32)),
    tokenFor: (body, nowMs) => {
      const claims = {
        iat: Math.floor(nowMs / 1_000),
        jti: randomUUID(),
        request_body_sha256: createHash('sha256').update(body).digest('hex'),
      };
      const signed = [{ alg: 'ES256', typ: 'JWT', kid }, claims]
        .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
        .join('.');
      const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
      return `${signed}.${signature.toString('base64url')}`;
    },
    keySet: () => ({ keys: [{ kty, crv, x, y, kid, alg: 'ES256', use: 'sig' }] }),
  };
}

/** Hooks of one task. */
const MAX_HOOKS = 10;
const MAX_URL_CHARS = 2_048;
const MAX_FIELD_CHARS = 4_096;
/** What a header may have (RFC 9110, without the bytes that have no meaning). */
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;
const SCHEME = /^[\w!#$%&'*+.^`|~-]*$/;

/** @throws {RequestMalformedError} no update may be sent to this URL */
export function refuseHookUrl(transport: Pick<AgentTransport, 'refusalOf'>, url: string): void {
  const isHttp = url.length <= MAX_URL_CHARS && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!isHttp) {
    throw new RequestMalformedError(
      `url must be an http or https URL of at most ${MAX_URL_CHARS} characters.`,
    );
  }
  const refusal = transport.refusalOf(url);
  if (refusal !== undefined) throw new RequestMalformedError(`url is not allowed: ${refusal.sentence}.`);
}

/**
 * Stores a hook of a task, in place of the one with its id, and starts to send updates to it.
 * @throws {RequestMalformedError}
 */
export async function setHook(
  hooks: Pick<TaskHooks, 'list' | 'put'>,
  tasks: Pick<DurableTasks, 'start'>,
  { taskId, id, url, token, authentication }: TaskPushNotificationConfig,
  requestedVersion: string | undefined,
): Promise<TaskHook> {
  const texts = [id, token, authentication?.scheme, authentication?.credentials];
  if (texts.some((text = '') => text.length > MAX_FIELD_CHARS)) {
    throw new RequestMalformedError(
      `id, token and authentication must have at most ${MAX_FIELD_CHARS} characters.`,
    );
  }
  const { scheme = '', credentials = '' } = authentication ?? {};
  if (!HEADER_VALUE.test(token) || !HEADER_VALUE.test(credentials) || !SCHEME.test(scheme)) {
    throw new RequestMalformedError(
      'token and authentication are sent as headers: token and credentials must have printable ASCII characters only, scheme no spaces either.',
    );
  }
  const known = await hooks.list(taskId);
  if (known.length >= MAX_HOOKS && !known.some((hook) => hook.id === id)) {
    throw new RequestMalformedError(`A task has at most ${MAX_HOOKS} push notification configs.`);
  }
  const given: NewTaskHook = {
    taskId,
    id: id || randomUUID(),
    url,
    ...(token && { token }),
    ...(authentication?.scheme && { authentication }),
    version: requestedVersion === '0.3' ? '0.3' : '1.0',
  };
  const hook = await hooks.put(given);
  await tasks.start(pushUpdatesStart(hook));
  return hook;
}

/** A hook as the protocol shows it. */
export function hookConfig({ taskId, id, url, token = '', authentication }: TaskHook) {
  return { tenant: '', taskId, id, url, token, authentication };
}
