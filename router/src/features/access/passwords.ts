import { normalPassword } from '../../core/access/password-problem.ts';

/** A password could not be checked because too many wait; a later attempt may succeed. */
export type HashResult<T> = T | 'busy';

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
