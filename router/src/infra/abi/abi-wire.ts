import { z } from 'zod';
import { AgentProtocolError } from '../../core/errors.ts';

/** How calldata is packed: `raw` bytes, or JSON with it in hex. */
export type Envelope = 'raw' | 'json';

/** A request's body with its content type. `requestId` is the message's id, the same for every try. */
export function requestBody(envelope: Envelope, calldata: Buffer, requestId: string) {
  if (envelope === 'raw') return { contentType: 'application/octet-stream', body: new Uint8Array(calldata) };
  const body = JSON.stringify({ requestId, request: `0x${calldata.toString('hex')}` });
  return { contentType: 'application/json', body };
}

const step = z.looseObject({ name: z.string().optional() });
const envelopeAnswer = z.looseObject({ steps: z.array(step), result: z.string().nullish() });

/** An answer in the JSON envelope, `{steps, result}`; undefined for anything else. */
export function envelopeOf(body: Buffer): z.output<typeof envelopeAnswer> | undefined {
  if (body[0] !== 0x7b) return undefined;
  try {
    const parsed = envelopeAnswer.safeParse(JSON.parse(body.toString('utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The ABI-encoded outputs in the body of a 200 answer.
 * @throws {AgentProtocolError} the JSON envelope holds none
 */
export function outputsIn(envelope: Envelope, body: Buffer): Buffer {
  if (envelope === 'raw') return body;
  const answer = envelopeOf(body);
  if (!answer)
    throw new AgentProtocolError(
      'The ABI agent answered something else than the JSON envelope {steps, result}.',
    );
  const { result } = answer;
  if (typeof result !== 'string' || !/^0x(?:[0-9a-f]{2})*$/i.test(result)) {
    const names = answer.steps.map(({ name }) => name ?? '?').join(', ');
    throw new AgentProtocolError(
      `The ABI agent's JSON envelope holds no hex result (steps: ${names.slice(0, 200)}).`,
    );
  }
  return Buffer.from(result.slice(2), 'hex');
}
