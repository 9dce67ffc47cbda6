/** A password could not be checked because too many wait; a later attempt may succeed. */
export type HashResult<T> = T | 'busy';

/** Hashes passwords with a slow function, a few at a time. */
export interface PasswordHasher {
  /** @returns the hash with its parameters and a random salt */
  hash(password: string): Promise<HashResult<string>>;
  /** Whether the password has the hash. Without a hash it is false, and takes as long. */
  verify(hash: string | undefined, password: string): Promise<HashResult<boolean>>;
}
