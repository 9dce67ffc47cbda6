import { randomUUID } from 'node:crypto';
import type { TaskPushNotificationConfig } from '@a2a-js/sdk';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import type { HookStarter } from './hook-starter.ts';
import type { NewTaskHook, TaskHook, TaskHooks } from './task-hooks.ts';

/** Hooks of one task. */
const MAX_HOOKS = 10;
const MAX_URL_CHARS = 2_048;
const MAX_FIELD_CHARS = 4_096;
/** What a header may have (RFC 9110, without the bytes that have no meaning). */
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;
const SCHEME = /^[\w!#$%&'*+.^`|~-]*$/;

export interface TaskHookDeps {
  hooks: TaskHooks;
  hookStarter: Pick<HookStarter, 'start'>;
  /** Why no update may be sent to this URL, as part of a sentence. */
  refusalOf(url: string): string | undefined;
}

/** @throws {RequestMalformedError} no update may be sent to this URL */
export function refuseHookUrl({ refusalOf }: TaskHookDeps, url: string): void {
  const isHttp = url.length <= MAX_URL_CHARS && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!isHttp) {
    throw new RequestMalformedError(
      `url must be an http or https URL of at most ${MAX_URL_CHARS} characters.`,
    );
  }
  const refusal = refusalOf(url);
  if (refusal !== undefined) throw new RequestMalformedError(`url is not allowed: ${refusal}.`);
}

/**
 * Stores a hook of a task, in place of the one with its id, and starts to send updates to it.
 * @throws {RequestMalformedError}
 */
export async function setHook(
  { hooks, hookStarter }: TaskHookDeps,
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
  await hookStarter.start(hook);
  return hook;
}

/** A hook as the protocol shows it. */
export function hookConfig({ taskId, id, url, token = '', authentication }: TaskHook) {
  return { tenant: '', taskId, id, url, token, authentication };
}
