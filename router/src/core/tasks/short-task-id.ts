import type { StoredTask } from '../ports/remote-tasks.ts';

const MAX_SHOWN_CHARS = 24;
const SHORT_CHARS = 8;
const MIN_PREFIX_CHARS = 4;

/** A task id as people see and write it: a long one by its first characters, which `taskNamed` finds again. */
export function shortTaskId(remoteId: string): string {
  return remoteId.length > MAX_SHOWN_CHARS ? remoteId.slice(0, SHORT_CHARS) : remoteId;
}

/** The reply of a turn whose task continues. */
export function startedText(remoteId: string): string {
  return `Task ${shortTaskId(remoteId)} started, I will report here.`;
}

/** The task of a chat that a person means: by its id, or by the beginning of only one id. */
export function taskNamed(tasks: readonly StoredTask[], written: string): StoredTask | undefined {
  const exact = tasks.find(({ remoteId }) => remoteId === written);
  if (exact || written.length < MIN_PREFIX_CHARS) return exact;
  const lower = written.toLowerCase();
  const found = tasks.filter(({ remoteId }) => remoteId.toLowerCase().startsWith(lower));
  return new Set(found.map(({ remoteId }) => remoteId)).size === 1 ? found[0] : undefined;
}
