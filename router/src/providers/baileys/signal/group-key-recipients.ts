import type { SignalDataSet, SignalDataTypeMap } from '@whiskeysockets/baileys';

const CATEGORY = 'sender-key-memory';

/** As Baileys' keys, whose `set` accepts null to delete. */
export interface RecipientKeys {
  get<T extends keyof SignalDataTypeMap>(
    category: T,
    keyIds: string[],
  ): Promise<{ [keyId: string]: SignalDataTypeMap[T] }>;
  set(data: SignalDataSet): Promise<void>;
}

/**
 * Which devices have the account's key of a group (`sender-key-memory`). Baileys records them before it writes the message
 * that contains the key. Here the record is stored after the write: when the process ends or the send fails in between, the
 * next message contains the key again, and no member gets one that cannot be read. Workaround: refs/baileys-workarounds.md.
 */
export class GroupKeyRecipients {
  readonly #keys: RecipientKeys;
  /** Records whose message is not written; by group. */
  readonly #unwritten = new Map<string, SignalDataTypeMap[typeof CATEGORY]>();

  constructor(keys: RecipientKeys) {
    this.#keys = keys;
  }

  /** The keys for Baileys. */
  readonly keys: RecipientKeys = {
    get: async (category, keyIds) => {
      const found = await this.#keys.get(category, keyIds);
      if (category !== CATEGORY) return found;
      const unwritten = keyIds.flatMap((group) => {
        const record = this.#unwritten.get(group);
        return record ? [[group, { ...record }]] : [];
      });
      return { ...found, ...Object.fromEntries(unwritten) };
    },
    set: async (data) => {
      const { [CATEGORY]: records = {}, ...others } = data;
      const forgotten: SignalDataSet[typeof CATEGORY] = {};
      for (const [group, record] of Object.entries(records)) {
        if (record === null) {
          this.#unwritten.delete(group);
          forgotten[group] = null;
        } else if (await this.#isNew(group, record)) {
          this.#unwritten.set(group, record);
        }
      }
      const now = { ...others, ...(Object.keys(forgotten).length > 0 && { [CATEGORY]: forgotten }) };
      if (Object.keys(now).length > 0) await this.#keys.set(now);
    },
  };

  /** The last message to the group is written: stores who has the key, with the next commit. */
  written(group: string): void {
    const record = this.#unwritten.get(group);
    if (!record) return;
    this.#unwritten.delete(group);
    // If this fails, which the store reports, the next message contains the key again.
    this.#keys.set({ [CATEGORY]: { [group]: record } }).catch(() => undefined);
  }

  /** The last message to the group may not have been written. */
  failed(group: string): void {
    this.#unwritten.delete(group);
  }

  async #isNew(group: string, record: SignalDataTypeMap[typeof CATEGORY]): Promise<boolean> {
    const { [group]: stored = {} } = await this.#keys.get(CATEGORY, [group]);
    return Object.keys(record).some((device) => !stored[device]);
  }
}
