/** Shorter values stay when secrets are removed from a text: removing them would blank out ordinary words. */
const MIN_SECRET_CHARS = 8;

/** Removes the person's words and number and the route's secrets from what an agent wrote. */
export type Redact = (text: string) => string;

/** What an agent was given and may quote. */
export interface Sensitive {
  text: string;
  userId: string;
  sessionId: string;
  /** Header values, keys, passwords. */
  secrets: readonly string[];
}

/** Makes the function that removes these values, each replaced by its name in brackets. */
export function redactor({ text, userId, sessionId, secrets }: Sensitive): Redact {
  const hidden: Array<[string, string]> = [
    ...secrets.map((secret): [string, string] => [secret, '[secret]']),
    [text, '[message text]'],
    [JSON.stringify(text).slice(1, -1), '[message text]'],
    [sessionId, '[session]'],
    [userId, '[user]'],
  ];
  const known = hidden.filter(([value]) => value.length >= MIN_SECRET_CHARS);
  return (written) => known.reduce((shown, [value, name]) => shown.replaceAll(value, name), written);
}
