import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { z } from 'zod';
import type { AgentExchange } from '../../../core/agent-exchange.ts';

/** Exchanges repeat themselves: a small window and little memory are enough, and cost a tenth of the defaults. */
const DEFLATE = { level: 4, windowBits: 14, memLevel: 6 };
/** More than the exchanges of one turn can have: 12 with two bodies of 8,192 characters, and headers. */
const MAX_BYTES = 4 * 1024 * 1024;

const content = {
  headers: z.record(z.string(), z.string()),
  body: z.string().optional(),
  bytes: z.number().optional(),
};
const stored = z.array(
  z.object({
    attempt: z.number().optional(),
    at: z.string(),
    ms: z.number().optional(),
    request: z.object({ method: z.string(), url: z.string(), ...content }),
    response: z.object({ status: z.number(), ...content }).optional(),
    fault: z.string().optional(),
  }),
);

/** The exchanges of a turn as a column has them. */
export function packExchanges(exchanges: readonly AgentExchange[]): Buffer {
  return deflateRawSync(JSON.stringify(exchanges), DEFLATE);
}

/** @returns [] for a value that cannot be read */
export function unpackExchanges(data: Uint8Array): AgentExchange[] {
  try {
    const text = inflateRawSync(data, { maxOutputLength: MAX_BYTES }).toString('utf8');
    return stored.parse(JSON.parse(text)) as AgentExchange[];
  } catch {
    return [];
  }
}
