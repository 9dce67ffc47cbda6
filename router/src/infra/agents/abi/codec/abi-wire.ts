import { z } from 'zod';
import { AgentProtocolError } from '../../../../core/errors.ts';
import { withoutTrailing } from '../../../../core/without-trailing.ts';
import { bodyJson } from '../../transport/error-text.ts';

/** Form of the request body: `raw` calldata, or JSON with the calldata in hex. */
export type Envelope = 'raw' | 'json';

/** Body and content type of a request. `requestId` is the message's id, the same for each attempt. */
export function requestBody(envelope: Envelope, calldata: Buffer, requestId: string) {
  if (envelope === 'raw') return { contentType: 'application/octet-stream', body: new Uint8Array(calldata) };
  const body = JSON.stringify({ requestId, request: `0x${calldata.toString('hex')}` });
  return { contentType: 'application/json', body };
}

const step = z.looseObject({ name: z.string().optional() });
const envelopeAnswer = z.looseObject({ steps: z.array(step), result: z.string().nullish() });

/** An answer in the JSON envelope, `{steps, result}`; undefined for anything else. */
export function envelopeOf(body: Buffer): z.output<typeof envelopeAnswer> | undefined {
  // A brace, or the first byte of a byte order mark.
  return body[0] === 0x7b || body[0] === 0xef ? envelopeAnswer.safeParse(bodyJson({ body })).data : undefined;
}

/** Text of the last `error` step of an envelope, or the whole step as JSON; undefined when there is none. */
export function envelopeError(body: Buffer): string | undefined {
  const step = envelopeOf(body)?.steps.findLast(({ name }) => name === 'error');
  if (!step) return undefined;
  const { name: _, ...rest } = step;
  const text = [rest.message, rest.error, rest.detail].find((value) => typeof value === 'string');
  return text ?? (Object.keys(rest).length > 0 ? JSON.stringify(rest) : undefined);
}

/**
 * The ABI-encoded outputs in the body of a 200 answer; `redact` is applied to the parts that an error message quotes.
 * @throws {AgentProtocolError} the JSON envelope contains none
 */
export function outputsIn(
  envelope: Envelope,
  body: Buffer,
  redact: (text: string) => string = (text) => text,
): Buffer {
  if (envelope === 'raw') return body;
  const answer = envelopeOf(body);
  if (!answer)
    throw new AgentProtocolError('The ABI agent did not answer with the JSON envelope {steps, result}.');
  const { result } = answer;
  if (typeof result !== 'string' || !/^0x(?:[0-9a-f]{2})*$/i.test(result)) {
    const names = answer.steps.map(({ name }) => name ?? '?').join(', ');
    const said = redact(envelopeError(body) ?? '');
    throw new AgentProtocolError(
      `The ABI agent's JSON envelope contains no hex result (steps: ${names.slice(0, 200)})${said && `: ${said}`}.`,
    );
  }
  return Buffer.from(result.slice(2), 'hex');
}

/**
 * URL of a call: the endpoint, with `path` appended. An endpoint without a path gets `/`; the default port is 80 (443 with
 * https).
 * @throws {AgentProtocolError} the endpoint is not an http:// or https:// URL
 */
export function callUrl(endpoint: string, path: string | undefined): string {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new AgentProtocolError("The ABI agent's endpoint is not an http:// or https:// address.");
  }
  if (path === undefined) return url.href;
  return `${url.origin}${withoutTrailing(url.pathname, '/')}/${path.replace(/^\/+/, '')}${url.search}`;
}
