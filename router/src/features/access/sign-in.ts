import { createHash } from 'node:crypto';
import sql from 'sql-template-tag';
import { userKeyOf } from '../../core/access/caller.ts';
import {
  ADDRESS_DELAYS,
  type DelayRule,
  delaysOf,
  FORGET_ATTEMPTS_AFTER_MS,
  NAME_DELAYS,
  networkOf,
} from '../../core/access/failed-attempts.ts';
import { isLoggedOccurrence, type Logger } from '../../core/logger.ts';
import {
  type ConsoleSession,
  type ConsoleSessions,
  type ConsoleUsers,
  normalPassword,
  type StoredConsoleUser,
} from '../../core/ports/access.ts';
import type { Statements } from '../../infra/db/postgres.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';
import type { Access, Connection } from '../../infra/operations/access.ts';
import {
  adminKeyMac,
  deviceIdOf,
  newDevice,
  newSessionToken,
  sessionTokenHash,
} from '../../infra/operations/session-cookie.ts';

/** When too many passwords wait for their check. */
const BUSY_WAIT_MS = 2_000;
const MAX_USER_AGENT_CHARS = 200;

interface SignInDeps {
  /** WA2AI_API_KEY, if there is one. */
  adminKey: string | undefined;
  access: Pick<Access, 'isAdminKey'>;
  users: Pick<ConsoleUsers, 'find'>;
  sessions: Pick<ConsoleSessions, 'create'>;
  attempts: LoginAttempts;
  passwords: PasswordHasher;
  log: Logger;
}

/** The browser that signs in. */
export interface SignInFrom {
  connection: Connection;
  userAgent?: string;
  /** What the browser got when it signed in before. */
  device?: string;
}

export type SignInResult =
  /** `device`: for the browser to keep; absent after a login with the admin key. */
  | { kind: 'signed-in'; token: string; session: ConsoleSession; device?: string }
  /** `user`: the name is that of a user; a name that is unknown may be a mistyped password and is not repeated. */
  | { kind: 'refused'; user?: string }
  | { kind: 'delayed'; retryAfterMs: number };

/** Begins sessions: with the admin key, or with the name and password of a user. */
export class SignIn {
  readonly #deps: SignInDeps;
  #failures = 0;

  constructor(deps: SignInDeps) {
    this.#deps = deps;
  }

  /** A wrong key delays the check of the next one, as Access does. @throws {StorageUnavailableError} */
  async withAdminKey(key: string, from: SignInFrom): Promise<SignInResult> {
    const { adminKey, access } = this.#deps;
    if (adminKey === undefined || !(await access.isAdminKey(key, from.connection)))
      return { kind: 'refused' };
    return this.#begin(from, {}, (token) => ({ adminKeyMac: adminKeyMac(adminKey, token) }));
  }

  /** Takes as long for an unknown name as for a known one. @throws {StorageUnavailableError} */
  async withPassword(name: string, password: string, from: SignInFrom): Promise<SignInResult> {
    const user = await this.#deps.users.find(name);
    const known = user && from.device && deviceIdOf(from.device, user.name, user.passwordHash);
    const checked = await this.checkPassword({
      ...{ name, user, password, address: from.connection.address },
      ...(known && { browser: `device:${known}` }),
    });
    if (checked !== 'correct') {
      if (checked !== 'wrong') return checked;
      return { kind: 'refused', ...(user && { user: user.name }) };
    }
    const begun = await this.#begin(from, { userName: name }, () => ({}));
    if (begun.kind !== 'signed-in' || !user) return begun;
    return { ...begun, device: newDevice(user.name, user.passwordHash) };
  }

  /**
   * Checks a password, and slows down those who guess one. Attempts count for the name and for the address, so that anybody
   * who knows a name delays its other attempts. A browser that the user signed in with before has a count of its own:
   * attempts of others do not delay it.
   * @param user absent or disabled: no password is correct
   * @param browser names such a browser
   * @throws {StorageUnavailableError}
   */
  async checkPassword(input: {
    name: string;
    user: StoredConsoleUser | undefined;
    password: string;
    address: string;
    browser?: string;
  }): Promise<'correct' | 'wrong' | { kind: 'delayed'; retryAfterMs: number }> {
    const { attempts, passwords } = this.#deps;
    const { name, user, password, address, browser } = input;
    const addressKey = `address:${networkOf(address)}`;
    // A hash: a person may have typed the password in the place of the name.
    const nameKey = `name:${createHash('sha256').update(userKeyOf(name)).digest('hex')}`;
    const rules: Array<[string, DelayRule]> =
      browser === undefined
        ? [
            [addressKey, ADDRESS_DELAYS],
            [nameKey, NAME_DELAYS],
          ]
        : [[browser, NAME_DELAYS]];
    for (const [key, rule] of rules) {
      const retryAfterMs = await attempts.begin({ key, delaysMs: delaysOf(rule) });
      if (retryAfterMs > 0) return { kind: 'delayed', retryAfterMs };
    }
    const isCorrect = await passwords.verify(user?.passwordHash, password);
    if (isCorrect === 'busy') {
      for (const [key] of rules) await attempts.undo(key);
      return { kind: 'delayed', retryAfterMs: BUSY_WAIT_MS };
    }
    if (isCorrect && user && !user.disabledAt) {
      if (browser === undefined) await attempts.undo(addressKey);
      await attempts.forget(browser ?? nameKey);
      return 'correct';
    }
    this.#failures += 1;
    if (isLoggedOccurrence(this.#failures)) {
      this.#deps.log.warn({ address, failures: this.#failures }, 'wrong name or password');
    }
    return 'wrong';
  }

  async #begin(
    { connection, userAgent }: SignInFrom,
    of: { userName?: string },
    bound: (token: string) => { adminKeyMac?: Uint8Array },
  ): Promise<SignInResult> {
    const { id, token } = newSessionToken();
    const session = await this.#deps.sessions.create({
      id,
      tokenHash: sessionTokenHash(token),
      ...of,
      ...bound(token),
      ...(userAgent !== undefined && { userAgent: userAgent.slice(0, MAX_USER_AGENT_CHARS) }),
      address: connection.address,
    });
    if (!session) return { kind: 'refused' };
    this.#deps.log.info({ sessionId: id, ...(session.user && { role: session.user.role }) }, 'signed in');
    return { kind: 'signed-in', token, session };
  }
}

/** A password could not be checked because too many wait; a later attempt may succeed. */
type HashResult<T> = T | 'busy';

/** Hashes passwords with a slow function, a few at a time. */
export interface PasswordHasher {
  /** @returns the hash with its parameters and a random salt */
  hash(password: string): Promise<HashResult<string>>;
  /** Whether the password has the hash. Without a hash it is false, and takes as long. */
  verify(hash: string | undefined, password: string): Promise<HashResult<boolean>>;
}

/** OWASP's minimum for argon2id: 19 MiB of memory, two passes, one thread. The package's default algorithm is argon2id. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** Hashes at a time: they take 38 MB and two of the four threads that Node has for files and names. */
const MAX_RUNNING = 2;
/** Further ones are refused. */
const MAX_WAITING = 20;

type Argon2 = Pick<typeof import('@node-rs/argon2'), 'hash' | 'verify'>;

/**
 * Passwords with argon2id, on threads of the pool, two at a time. The package is loaded with the first password: a node
 * where nobody signs in does not need it.
 */
export class Argon2Passwords implements PasswordHasher {
  readonly #load: () => Promise<Argon2>;
  #loading: Promise<Argon2> | undefined;
  /** Hash of a text that nobody knows, so that an unknown name takes as long as a known one. */
  #decoy: Promise<string> | undefined;
  #running = 0;
  readonly #waiting: Array<() => void> = [];

  constructor(load: () => Promise<Argon2> = () => import('@node-rs/argon2')) {
    this.#load = load;
  }

  hash(password: string): Promise<HashResult<string>> {
    return this.#inTurn(({ hash }) => hash(normalPassword(password), PARAMETERS));
  }

  verify(hash: string | undefined, password: string): Promise<HashResult<boolean>> {
    return this.#inTurn(async (argon2) => {
      this.#decoy ??= argon2.hash(crypto.randomUUID(), PARAMETERS);
      const decoy = await this.#decoy;
      const isSame = await argon2.verify(hash ?? decoy, normalPassword(password));
      return hash !== undefined && isSame;
    });
  }

  async #inTurn<T>(work: (argon2: Argon2) => Promise<T>): Promise<HashResult<T>> {
    if (this.#running >= MAX_RUNNING) {
      if (this.#waiting.length >= MAX_WAITING) return 'busy';
      // The one that ends passes its permit on.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else {
      this.#running += 1;
    }
    try {
      this.#loading ??= this.#load();
      return await work(await this.#loading);
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}

/** What is counted: attempts to sign in with a name, or from an address. */
export interface AttemptKey {
  /** What is counted. */
  key: string;
  /** Milliseconds until the next attempt is allowed after 1, 2, 3 ... attempts. */
  delaysMs: readonly number[];
}

/**
 * Counts attempts to sign in, over all nodes, by the clock of the database.
 * @throws {StorageUnavailableError} from every method
 */
export interface LoginAttempts {
  /**
   * Counts an attempt before its password is checked, so that many concurrent ones cannot pass. An attempt that is refused does not
   * count: it does not delay the next one.
   * @returns 0, or for how many milliseconds attempts are refused
   */
  begin(attempt: AttemptKey): Promise<number>;
  /** Takes back an attempt that succeeded. */
  undo(key: string): Promise<void>;
  /** Counts from 1 again. */
  forget(key: string): Promise<void>;
}

/** Rows that one run of the retention removes. */
const MAX_FORGOTTEN = 10_000;
const FORGET_AFTER = sql`${FORGET_ATTEMPTS_AFTER_MS}::bigint * interval '1 millisecond'`;

/** Attempts to sign in, counted in PostgreSQL for all nodes. */
export class PostgresLoginAttempts implements LoginAttempts {
  readonly #postgres: Pick<Statements, 'query' | 'execute'>;

  constructor(postgres: Pick<Statements, 'query' | 'execute'>) {
    this.#postgres = postgres;
  }

  async begin({ key, delaysMs }: AttemptKey): Promise<number> {
    const delays = sql`${[...delaysMs]}::integer[]`;
    const delayAfter = (count: ReturnType<typeof sql>) =>
      sql`(${delays})[least(${count}, ${delaysMs.length}::integer)] * interval '1 millisecond'`;
    const isForgotten = sql`a.last_at <= clock_timestamp() - ${FORGET_AFTER}`;
    const count = sql`CASE WHEN ${isForgotten} THEN 1 ELSE a.count + 1 END`;
    // Without a delay no clock decides, and no wait is longer than the delay: clocks of two processor cores may differ.
    const isAllowed = sql`(a.allowed_at <= a.last_at OR a.allowed_at <= clock_timestamp())`;
    const counted = await withStorage('counting an attempt to sign in', () =>
      this.#postgres.execute(sql`
        INSERT INTO login_attempt AS a (key, count, last_at, allowed_at)
        VALUES (${key}, 1, statement_timestamp(), statement_timestamp() + ${delayAfter(sql`1`)})
        ON CONFLICT (key) DO UPDATE SET count = ${count}, last_at = statement_timestamp(),
          allowed_at = statement_timestamp() + ${delayAfter(count)}
        WHERE ${isAllowed}`),
    );
    if (counted > 0) return 0;
    const [row] = await withStorage('reading the attempts to sign in', () =>
      this.#postgres.query<{ waitMs: number }>(sql`
        SELECT ceil(extract(epoch FROM least(allowed_at - clock_timestamp(), allowed_at - last_at)) * 1000)::integer AS "waitMs"
        FROM login_attempt WHERE key = ${key}`),
    );
    return Math.max(row?.waitMs ?? 0, 1);
  }

  async undo(key: string): Promise<void> {
    await this.#write(sql`
      UPDATE login_attempt SET count = greatest(count - 1, 0), allowed_at = last_at WHERE key = ${key}`);
  }

  async forget(key: string): Promise<void> {
    // Rows of others that nobody counts any more are removed with it.
    await this.#write(sql`
      DELETE FROM login_attempt WHERE key = ${key} OR last_at <= clock_timestamp() - ${FORGET_AFTER}`);
  }

  async #write(statement: ReturnType<typeof sql>): Promise<void> {
    await withStorage('counting an attempt to sign in', () => this.#postgres.execute(statement));
  }
}

/** Removes counts that no longer matter, some at a time. */
export async function forgetLoginAttempts(postgres: Statements): Promise<void> {
  await withStorage('removing old attempts to sign in', () =>
    postgres.query(sql`
      DELETE FROM login_attempt WHERE key IN (
        SELECT key FROM login_attempt WHERE last_at <= clock_timestamp() - ${FORGET_AFTER} LIMIT ${MAX_FORGOTTEN})`),
  );
}
