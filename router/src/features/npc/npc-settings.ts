import { z } from 'zod';
import type { FaceSettings } from '../../core/ports/face-settings.ts';
import type { SecretCipher } from '../../infra/db/encryption/secret-cipher.ts';
import { RPC_URL_CONTEXT } from '../../infra/db/encryption/secret-columns.ts';

/** A capability that is not one of the specification. */
export const CUSTOM_CAPABILITY = /^custom:[A-Za-z][\w.-]{0,99}$/;

/** The chain of `duel` and `quest`. The key of the wallet is not among the settings. */
const npcChainSettings = z.object({
  rpcUrl: z.string(),
  chainId: z.int(),
  /** A duel needs `arena`, a quest needs `quest`. */
  contracts: z.object({ arena: z.string().optional(), quest: z.string().optional() }),
  /** Addresses of the tokens that the wallet may spend; the first one is the default. */
  tokens: z.array(z.string()),
  /** The most of one task: amounts in the smallest unit of the token, or of the chain's own currency for fees. */
  limits: z.object({
    wager: z.string().optional(),
    reward: z.string().optional(),
    gas: z.int().optional(),
    feePerGas: z.string().optional(),
    /** The tasks of a caller pay at most so many times the limits of one task in 24 hours. */
    perDay: z.int().optional(),
  }),
  /** Blocks on top of a block before it counts. */
  confirmations: z.int().optional(),
  /** The first block whose events are followed. */
  startBlock: z.int().optional(),
  /** Time limit of one request to the RPC server. */
  timeoutMs: z.int().optional(),
});

/** Limits that the settings leave out: 200 gwei is above the usual fees of public chains. */
export const DEFAULT_CHAIN_LIMITS = { gas: 1_000_000, feePerGas: '200000000000', perDay: 20 };

export type NpcChainSettings = z.output<typeof npcChainSettings>;

/** Settings of the NPC face, which an admin changes while wa2ai runs. */
const npcFaceSettings = z.object({
  enabled: z.boolean(),
  name: z.string(),
  description: z.string().optional(),
  routeId: z.string().optional(),
  url: z.string().optional(),
  custom: z.array(z.string()).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  chain: npcChainSettings.optional(),
});

export type NpcFaceSettings = z.output<typeof npcFaceSettings>;

/** Until an admin stores settings: on where only this machine can call. */
export function defaultNpcSettings(isLoopback: boolean): NpcFaceSettings {
  return { enabled: isLoopback, name: 'wa2ai' };
}

/** Capabilities of the card: those that are configured. */
export function capabilitiesOf({ routeId, custom = [], chain }: NpcFaceSettings): string[] {
  return [
    ...(chain?.contracts.arena !== undefined ? ['duel'] : []),
    ...(chain?.contracts.quest !== undefined ? ['quest'] : []),
    ...(routeId === undefined ? [] : ['social']),
    'trade',
    'emotion',
    'memory',
    ...(routeId === undefined ? [] : custom),
  ];
}

/**
 * Settings of the NPC face among those of all faces, with the RPC URL of the chain encrypted: it may contain a key.
 * @throws {StorageUnavailableError} from both methods
 */
export class NpcSettingsStore {
  readonly #settings: FaceSettings;
  readonly #secrets: Pick<SecretCipher, 'sealText' | 'openText'>;

  constructor(settings: FaceSettings, secrets: Pick<SecretCipher, 'sealText' | 'openText'>) {
    this.#settings = settings;
    this.#secrets = secrets;
  }

  /** Undefined: none are stored, or not those of this version. */
  async get(): Promise<NpcFaceSettings | undefined> {
    return this.#opened(await this.#settings.get('npc'));
  }

  /** @param check called with what is stored, as `get` returns it; otherwise as that of FaceSettings */
  async put(settings: NpcFaceSettings, check?: (stored: NpcFaceSettings | undefined) => void): Promise<void> {
    const sealed = withRpcUrl(settings, (rpcUrl) => this.#secrets.sealText(rpcUrl, RPC_URL_CONTEXT));
    await this.#settings.put('npc', sealed, check && ((stored) => check(this.#opened(stored))));
  }

  #opened(stored: unknown): NpcFaceSettings | undefined {
    const { success, data } = npcFaceSettings.safeParse(stored);
    return success
      ? withRpcUrl(data, (rpcUrl) => this.#secrets.openText(rpcUrl, RPC_URL_CONTEXT))
      : undefined;
  }
}

function withRpcUrl(settings: NpcFaceSettings, change: (rpcUrl: string) => string): NpcFaceSettings {
  const { chain } = settings;
  return chain ? { ...settings, chain: { ...chain, rpcUrl: change(chain.rpcUrl) } } : settings;
}
