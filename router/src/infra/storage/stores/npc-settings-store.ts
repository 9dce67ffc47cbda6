import { type NpcFaceSettings, npcFaceSettings } from '../../../core/npc/npc-settings.ts';
import type { FaceSettings } from '../../../core/ports/face-settings.ts';
import type { SecretCipher } from '../encryption/secret-cipher.ts';
import { RPC_URL_CONTEXT } from '../encryption/secret-columns.ts';

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
    const { success, data } = npcFaceSettings.safeParse(await this.#settings.get('npc'));
    return success
      ? withRpcUrl(data, (rpcUrl) => this.#secrets.openText(rpcUrl, RPC_URL_CONTEXT))
      : undefined;
  }

  async put(settings: NpcFaceSettings): Promise<void> {
    const sealed = withRpcUrl(settings, (rpcUrl) => this.#secrets.sealText(rpcUrl, RPC_URL_CONTEXT));
    await this.#settings.put('npc', sealed);
  }
}

function withRpcUrl(settings: NpcFaceSettings, change: (rpcUrl: string) => string): NpcFaceSettings {
  const { chain } = settings;
  return chain ? { ...settings, chain: { ...chain, rpcUrl: change(chain.rpcUrl) } } : settings;
}
