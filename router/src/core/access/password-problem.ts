import { type Said, say } from '../phrases.ts';

export const MIN_PASSWORD_CHARS = 12;
/** Longer texts only cost time. */
const MAX_PASSWORD_CHARS = 256;
const MIN_DIFFERENT_CHARS = 5;

/** The form in which a password is hashed: keyboards write the same character in several ways. */
export function normalPassword(password: string): string {
  return password.normalize('NFKC');
}

/** Why this text is no password for the user, as the end of a sentence that begins with the field; undefined: it is one. */
export function passwordProblem(password: string, name: string): Said | undefined {
  const characters = [...normalPassword(password)];
  if (characters.length < MIN_PASSWORD_CHARS) return say('field.min-chars', { min: MIN_PASSWORD_CHARS });
  if (characters.length > MAX_PASSWORD_CHARS) return say('field.max-chars', { max: MAX_PASSWORD_CHARS });
  if (new Set(characters).size < MIN_DIFFERENT_CHARS) {
    return say('field.different-chars', { min: MIN_DIFFERENT_CHARS });
  }
  const rest = characters.join('').toLowerCase().replaceAll(name.toLowerCase(), '');
  return rest.length < MIN_PASSWORD_CHARS / 2 ? say('field.not-name') : undefined;
}
