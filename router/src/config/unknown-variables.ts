import { envSchema } from './config.ts';

const PREFIX = 'WA2AI_';
/** Variables that only the command line reads. They may be in `.env` too. */
export const CLI_VARIABLES = ['WA2AI_URL', 'WA2AI_BACKUP_PASSPHRASE'] as const;

/** Edits that a typing error needs at most, such as a missing underscore or two swapped letters. */
const MAX_EDITS = 3;

/** A variable that wa2ai does not know. */
export interface UnknownVariable {
  name: string;
  /** The variable that was probably meant; undefined when none is similar. */
  guess: string | undefined;
}

/** Variables that start with `WA2AI_` and are not settings, for a warning at start: most are typing errors. */
export function unknownVariables(env: Record<string, string | undefined>): UnknownVariable[] {
  const settings = Object.keys(envSchema.shape).filter((name) => name.startsWith(PREFIX));
  const known: readonly string[] = [...settings, ...CLI_VARIABLES];
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !known.includes(name))
    .sort()
    .map((name) => ({ name, guess: guessOf(name, settings) }));
}

function guessOf(name: string, known: readonly string[]): string | undefined {
  const longer = known.filter((candidate) => isStartOf(name, candidate));
  if (longer.length === 1) return longer[0];
  const ranked = known
    .map((candidate) => ({ candidate, edits: editDistance(name, candidate) }))
    .sort((a, b) => a.edits - b.edits);
  const [best] = ranked;
  return best && best.edits <= MAX_EDITS ? best.candidate : undefined;
}

/** `WA2AI_ENV` for `WA2AI_ENVIRONMENT`; fewer than three letters after the prefix say too little. */
function isStartOf(name: string, candidate: string): boolean {
  return name.length >= PREFIX.length + 3 && candidate.startsWith(name);
}

/** Levenshtein distance: the number of letters to insert, delete or replace. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + Number(a[i - 1] !== b[j - 1]);
      current.push(Math.min(replaced, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
