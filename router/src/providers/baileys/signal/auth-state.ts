import { type AuthenticationCreds, type AuthenticationState, initAuthCreds } from '@whiskeysockets/baileys';
import type { Clock } from '../../../core/ports/clock.ts';
import type { KeyScope, KeyStore } from '../../../core/ports/key-store.ts';
import { AccountKeys, type AccountKeysOptions } from './account-keys.ts';
import { GroupCommit } from './group-commit.ts';
import { GroupKeyRecipients } from './group-key-recipients.ts';
import { decodeCreds, encodeCreds } from './key-encoding.ts';
import { SignalSteps } from './signal-steps.ts';

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

export type AuthStateOptions = Omit<AccountKeysOptions, 'commits'> & {
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
