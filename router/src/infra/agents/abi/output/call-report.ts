import { contractSessionId, contractUser } from '../../../../core/chat-id.ts';
import type { IncomingMessage } from '../../../../core/models.ts';
import { type Redact, redactor } from '../../transport/redaction.ts';
import { readable } from '../codec/abi-render.ts';
import type { AbiValue } from '../codec/abi-type.ts';
import type { Call } from '../input/abi-command.ts';

/** Maximum number of hex digits of calldata in the message log. */
const MAX_LOGGED_HEX = 2_050;
const MIN_QUOTED_CHARS = 8;
const MAX_QUOTED_VALUES = 1_000;

/**
 * Makes the function that removes from an agent's text the secrets of the route's headers, the person's text and number,
 * and the arguments of the call, because agents quote their input.
 */
export function callRedactor(
  { text, from, channelId }: IncomingMessage,
  values: readonly AbiValue[],
  headers: Record<string, string> = {},
): Redact {
  const secrets = Object.values(headers).flatMap((value) => [value, ...value.split(' ').slice(1)]);
  const sessionId = contractSessionId(from, channelId);
  const redact = redactor({ text, userId: contractUser(from), sessionId, secrets });
  const given = [...longTextsIn(values)];
  return (written) => given.reduce((shown, value) => shown.replaceAll(value, '[argument]'), redact(written));
}

/** Values that an agent could quote, as text; short values are skipped, because they may be ordinary words. */
function longTextsIn(values: readonly AbiValue[], found = new Set<string>()): Set<string> {
  for (const value of values) {
    if (found.size >= MAX_QUOTED_VALUES) break;
    if (Array.isArray(value)) longTextsIn(value, found);
    else if (String(value).length >= MIN_QUOTED_CHARS) found.add(String(value));
  }
  return found;
}

/** The call for the message log; a file is described, its bytes are not shown. `calldata` is absent before the file is fetched. */
export function describeCall(
  { target, values, needsFile }: Call,
  calldata: Buffer | undefined,
): Record<string, unknown> {
  return {
    function: target.signature,
    selector: target.selector,
    arguments: readable(target.inputs, values),
    calldata: shownCalldata(target.selector, needsFile ? undefined : calldata, calldata?.length),
  };
}

function shownCalldata(selector: string, calldata: Buffer | undefined, length: number | undefined): string {
  const size = length === undefined ? 'with the bytes of the file' : `${length} bytes`;
  if (!calldata) return `${selector}… (${size})`;
  const hex = `0x${calldata.toString('hex', 0, MAX_LOGGED_HEX / 2)}`;
  return calldata.length * 2 > MAX_LOGGED_HEX ? `${hex}… (${size})` : hex;
}
