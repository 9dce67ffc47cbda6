/** How agents know the owner of the account, who answers by hand. */
export const OWNER_NAME = 'Owner of this account';

/** Names that say who somebody is for agents, as letters only. */
const RESERVED = /ownerofthisaccount|^(?:system|assistant|developer)$/;

/**
 * The name of a person for agents, in one line: the one that they chose, unless it claims to be the owner, the assistant or
 * the system. People without a name are distinguished by the last digits of their LID, else of their number; the whole
 * number is not sent.
 */
export function nameOfPerson(pushName: string | undefined, digits: string, isGroup: boolean): string {
  const name = pushName?.replace(/[\s\p{Cc}\u2028\u2029]+/gu, ' ').trim();
  // Letters of other widths and with accents look alike.
  const letters = name?.normalize('NFKD').replace(/\P{L}/gu, '').toLowerCase();
  if (name && !RESERVED.test(letters ?? '')) return name;
  return isGroup ? `Member ${digits.slice(-4)}`.trim() : 'Person';
}

/** `"Ana": hello`: one line for each text, in which the quotes mark a name that a person chose. */
export function lineOfPerson(name: string, text: string): string {
  return `"${name.replaceAll('"', "'")}": ${indented(text)}`;
}

/** The lines after the first are indented, so that none of them looks like the beginning of another message. */
export function indented(text: string): string {
  return text.replace(/\r\n|[\n\v\f\r\u0085\u2028\u2029]/g, '\n  ');
}
