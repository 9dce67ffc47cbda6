import { z } from 'zod';

const MAX_CAPABILITIES = 200;
const MAX_DESCRIPTION_CHARS = 1_000;

/** A header name that carries an API key. */
const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/);

const cardSchema = z.looseObject({
  id: z.string().nullish(),
  name: z.string().nullish(),
  version: z.string().nullish(),
  description: z.string().nullish(),
  capabilities: z.array(z.string()),
  transports: z.array(z.looseObject({ type: z.string(), url: z.string() })).nullish(),
  authentication: z.looseObject({ type: z.string().nullish(), header: z.string().nullish() }).nullish(),
});

/** What wa2ai reads of an agent card of the NPC Engine. */
export interface NpcCard {
  name?: string;
  version?: string;
  description?: string;
  /** Standard capabilities (`duel`) and `custom:` ones, in the order of the card. */
  capabilities: string[];
  rpcUrl?: string;
  /** With the placeholder `{taskId}`. */
  streamUrl?: string;
  /** What the card wants as a proof, such as `api_key`; absent when it names nothing. */
  authType?: string;
  /** The header of the API key; `X-API-Key` unless the card names another one. */
  keyHeader: string;
}

/** Reads a card; undefined when it is none of the NPC Engine. The card of A2A has an object as `capabilities`. */
export function npcCardOf(json: unknown): NpcCard | undefined {
  const parsed = cardSchema.safeParse(json);
  if (!parsed.success) return undefined;
  const { name, version, description, capabilities, transports, authentication } = parsed.data;
  const urlOf = (type: string) => transports?.find((transport) => transport.type === type)?.url;
  const known = capabilities.filter((capability) => /^(?:custom:)?[A-Za-z][\w.-]{0,99}$/.test(capability));
  const header = headerName.safeParse(authentication?.header).data;
  const [rpcUrl, streamUrl] = [urlOf('http'), urlOf('sse')];
  return {
    ...(name && { name: name.slice(0, 200) }),
    ...(version && { version: version.slice(0, 50) }),
    ...(description && { description: description.slice(0, MAX_DESCRIPTION_CHARS) }),
    capabilities: [...new Set(known)].slice(0, MAX_CAPABILITIES),
    ...(rpcUrl && { rpcUrl }),
    ...(streamUrl && { streamUrl }),
    ...(authentication?.type && { authType: authentication.type.slice(0, 50) }),
    keyHeader: header ?? 'X-API-Key',
  };
}
