import {
  type AuthenticationCreds,
  type AuthenticationState,
  initAuthCreds,
  type SignalDataSet,
  type SignalDataTypeMap,
} from '@whiskeysockets/baileys';
import type { Clock } from '../../../core/clock.ts';
import type { KeyScope, KeyStore } from '../../../core/ports/key-store.ts';
import { AccountKeys, type AccountKeysOptions, decodeCreds, encodeCreds } from './account-keys.ts';
import { GroupCommit } from './group-commit.ts';
import { SignalSteps } from './signal-repository.ts';

const CREDS = { category: 'creds', keyId: 'creds' };

/** Baileys' authentication state over a KeyStore, and the account's Signal steps and commits behind it. */
export interface AuthState extends AuthenticationState {
  readonly commits: GroupCommit;
  readonly accountKeys: AccountKeys;
  readonly steps: SignalSteps;
  readonly groupKeys: Pick<GroupKeyRecipients, 'written' | 'failed'>;
  /**
   * Call it before each connection. Checks that the store works, accepts units again after a failed commit, stores
   * credentials that could not be stored, and removes the identity of an unfinished pairing: WhatsApp would treat it as
   * a login with unknown keys.
   * @throws {StorageUnavailableError} do not connect
   */
  prepare(): Promise<void>;
  /** Stores the credentials as they are now, before every unit appended after it; call on `creds.update`. */
  saveCreds(): void;
  /** Resolves when every earlier write is durable or void. */
  flush(): Promise<void>;
  /** Whether a phone has linked the account, so that it can log in. */
  isLinked(): boolean;
}

type AuthStateOptions = Omit<AccountKeysOptions, 'commits'> & {
  store: KeyStore;
  scope: KeyScope;
  clock: Clock;
};

/**
 * Loads the credentials, or makes new ones.
 * @throws {StorageUnavailableError} the credentials could not be read; call again
 * @throws {CredentialsDamagedError} the stored credentials are damaged
 */
export async function openAuthState(options: AuthStateOptions): Promise<AuthState> {
  const { store, scope, clock } = options;
  const creds = await loadCreds(store, scope);
  const commits = new GroupCommit(store, scope, clock);
  const accountKeys = new AccountKeys({ ...options, commits });
  const steps = new SignalSteps(accountKeys);
  const groupKeys = new GroupKeyRecipients({
    get: (category, keyIds) => accountKeys.get(category, keyIds),
    set: (data) => steps.step(async () => steps.keys.set(data)),
  });
  /** Unit of the latest credentials; undefined when they are not stored. */
  let credsUnit: number | undefined = 0;
  commits.listen({
    durable: () => undefined,
    failed: () => {
      if (credsUnit !== undefined && credsUnit > commits.durable) credsUnit = undefined;
    },
  });

  const saveCreds = (): void => {
    try {
      credsUnit = commits.append([{ ...CREDS, value: encodeCreds(creds) }]);
    } catch {
      // The failed commit was reported; `prepare` stores them.
      credsUnit = undefined;
    }
  };

  return {
    creds,
    commits,
    accountKeys,
    steps,
    groupKeys,
    keys: groupKeys.keys,
    saveCreds,
    isLinked: () => Boolean(creds.account),
    async prepare() {
      if (!creds.account) {
        creds.me = undefined;
        creds.pairingCode = undefined;
        creds.registered = false;
      }
      await store.read(scope, [CREDS]);
      // A step that began before a failed commit uses void writes: it must end, with a failure, before `recover`.
      await steps.settled();
      await commits.recover();
      if (credsUnit !== undefined) return;
      saveCreds();
      await commits.flush();
    },
    flush: () => commits.settled(),
  };
}

async function loadCreds(store: KeyStore, scope: KeyScope): Promise<AuthenticationCreds> {
  const [stored] = await store.read(scope, [CREDS]);
  return stored ? decodeCreds(stored.value) : initAuthCreds();
}

const CATEGORY = 'sender-key-memory';

/** As Baileys' keys, whose `set` accepts null to delete. */
interface RecipientKeys {
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
