import { z } from 'zod';
import { LANGUAGES } from './texts.ts';

const countedSchema = z.object({ startMs: z.number(), count: z.number(), isSaid: z.boolean().optional() });

const stateSchema = z.object({
  /** When each notice was sent last, epoch milliseconds. */
  notices: z.record(z.string(), z.number()).optional(),
  /** Sessions other than the first one, by person (`chat`: of all). */
  sessions: z.record(z.string(), z.object({ number: z.number(), startMs: z.number() })).optional(),
  /** Messages of a person in the window that began at `startMs`. */
  quotas: z.record(z.string(), countedSchema).optional(),
  /** When the last message was stored that the agent did not get because of a pause, or that the owner wrote by hand. */
  contextMs: z.number().optional(),
  /** Turns before this time do not count as an auto-reply loop: an operator resumed the chat then. */
  loopFromMs: z.number().optional(),
  /** In which people wrote last, as far as their words said it. Another version of wa2ai may know more languages. */
  language: z.enum(LANGUAGES).optional().catch(undefined),
  /** A person's `/stop` ended a turn, and is not answered yet. */
  isStopped: z.boolean().optional(),
  /** When the last message was stored that took such messages along to the agent. */
  contextTakenMs: z.number().optional(),
});

/** What policies remember of a chat. It is stored with the chat and survives crashes; a turn that changes it stores the change. */
export type ChatState = z.output<typeof stateSchema>;

/** The state as it is stored; a part that this version does not understand is left out. */
export function storedState(stored: unknown): ChatState {
  const parsed = stateSchema.safeParse(stored ?? {});
  return parsed.success ? parsed.data : {};
}

/** More people of one chat are not remembered: those of whom something happened last stay. */
const MAX_PEOPLE = 500;

/** A record with one more entry, the latest, within the limit of entries. */
export function withEntry<Value>(
  record: Record<string, Value> | undefined,
  key: string,
  value: Value,
): Record<string, Value> {
  const { [key]: _, ...others } = record ?? {};
  return Object.fromEntries([...Object.entries(others).slice(-(MAX_PEOPLE - 1)), [key, value]]);
}
