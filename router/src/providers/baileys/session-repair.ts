import { field } from './disconnect-table.ts';

/**
 * Puts back the sessions of a contact that libsignal tried in vain. It tries them in turn, each try steps that session's
 * ratchet, and what the failed ones did is stored with the one that fitted: a late message of an old session then breaks
 * the new one. Pure; sessions are in libsignal's serialised form.
 * @returns the record to store instead of `after`, or undefined when it is right as it is
 */
export function withoutFailedTries(before: unknown, after: unknown): object | undefined {
  const old = field(before, '_sessions');
  const now = field(after, '_sessions');
  if (!isRecord(old) || !isRecord(now) || Object.keys(old).length < 2) return undefined;
  const untouched = Object.keys(now).filter((key) => key in old && usedAt(now[key]) === usedAt(old[key]));
  // The session that fitted is the one whose time of use moved; were it not told apart, nothing is put back.
  if (untouched.length !== Object.keys(now).length - 1) return undefined;
  const sessions = { ...now };
  for (const key of untouched) sessions[key] = old[key];
  return { ...(after as object), _sessions: sessions };
}

function usedAt(session: unknown): unknown {
  return field(field(session, 'indexInfo'), 'used');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
