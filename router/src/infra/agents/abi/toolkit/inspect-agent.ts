import { z } from 'zod';
import type { Inspection } from '../../inspection.ts';
import { bodyJson } from '../../transport/body-text.ts';
import type { Envelope } from '../codec/abi-wire.ts';
import type { AbiFile } from './abi-file.ts';
import { type AgentProbe, answerText, type ProbeAnswer } from './agent-probe.ts';

/** Facts about an agent that need no call of a function. */
export interface InspectReport extends Inspection {
  /** Names that /health lists. */
  methods: string[];
  envelope?: Envelope;
  /** Functions of the ABI, when one was given. `isListed`: /health names it; absent when /health names none. */
  functions: Array<{ signature: string; selector: string; isListed?: boolean }>;
}

/** Requests /health and sends an unknown selector to detect the envelope. Never throws for an agent's failure. */
export async function inspectAgent(probe: AgentProbe, file: AbiFile | undefined): Promise<InspectReport> {
  const health = await probe.health();
  const isReachable = health.status !== 0;
  const said = health.status === 200 ? healthIn(health.body) : undefined;
  const methods = said?.methods ?? [];
  const envelope = isReachable ? await probe.detectEnvelope() : undefined;
  const abi = { functions: file?.entries, ...(envelope === 'json' && { envelope }) };
  return {
    kind: 'abi',
    url: probe.url,
    isReachable,
    answer: answerText(health),
    latencyMs: health.ms,
    ...(said?.version !== undefined && { version: said.version }),
    capabilities: methods.map((name) => `function ${name}`),
    methods,
    ...(envelope && { envelope }),
    ...(file && { route: { channelId: '*', agentEndpoint: probe.url, config: { abi } } }),
    functions: (file?.abi.functions ?? []).map(({ signature, selector, name }) => ({
      signature,
      selector,
      ...(methods.length > 0 && { isListed: methods.includes(name) }),
    })),
  };
}

const healthSchema = z.looseObject({
  status: z.string().nullish().catch(undefined),
  version: z.string().max(100).optional().catch(undefined),
  methods: z
    .array(z.unknown())
    .transform((names) => names.filter((name) => typeof name === 'string'))
    .optional()
    .catch(undefined),
});

/** What an agent says at `/health`; undefined when it is not the JSON of the container specification. */
function healthIn(body: Buffer): z.output<typeof healthSchema> | undefined {
  return healthSchema.safeParse(bodyJson({ body })).data;
}

/** Whether the answer to `/health` is one of the container specification: it names methods, or says `healthy`. */
export function isAbiHealth({ status, body }: Pick<ProbeAnswer, 'status' | 'body'>): boolean {
  const health = status === 200 ? healthIn(body) : undefined;
  return health?.methods !== undefined || health?.status === 'healthy';
}
