/** Shorter values are not redacted, because they would match parts of ordinary words. */
const MIN_SECRET_CHARS = 8;

/** Removes the person's text and number and the route's secrets from a text of an agent. */
export type Redact = (text: string) => string;

/** Values that wa2ai sent to an agent, and that the agent may quote. */
export interface Sensitive {
  text: string;
  userId: string;
  sessionId: string;
  /** Header values, keys, passwords. */
  secrets: readonly string[];
}

/** Returns the function that replaces each of these values with its name in brackets. */
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
