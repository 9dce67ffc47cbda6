export const MIN_PASSWORD_CHARS = 12;
/** Longer texts only cost time. */
const MAX_PASSWORD_CHARS = 256;
const MIN_DIFFERENT_CHARS = 5;

/** The form in which a password is hashed: keyboards write the same character in several ways. */
export function normalPassword(password: string): string {
  return password.normalize('NFKC');
}

/** Why this text is no password for the user, as the end of a sentence that begins with the field; undefined: it is one. */
export function passwordProblem(password: string, name: string): string | undefined {
  const characters = [...normalPassword(password)];
  if (characters.length < MIN_PASSWORD_CHARS) return `must have at least ${MIN_PASSWORD_CHARS} characters`;
  if (characters.length > MAX_PASSWORD_CHARS) return `must have at most ${MAX_PASSWORD_CHARS} characters`;
  if (new Set(characters).size < MIN_DIFFERENT_CHARS) {
    return `must have at least ${MIN_DIFFERENT_CHARS} different characters`;
  }
  const rest = characters.join('').toLowerCase().replaceAll(name.toLowerCase(), '');
  return rest.length < MIN_PASSWORD_CHARS / 2 ? 'must not consist of the name' : undefined;
}
