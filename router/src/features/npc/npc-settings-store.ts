import type { FaceSettings } from '../../core/ports/face-settings.ts';
import type { SecretCipher } from '../../infra/db/encryption/secret-cipher.ts';
import { RPC_URL_CONTEXT } from '../../infra/db/encryption/secret-columns.ts';
import { type NpcFaceSettings, npcFaceSettings } from './npc-settings.ts';

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
