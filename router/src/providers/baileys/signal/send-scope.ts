import { AsyncLocalStorage } from 'node:async_hooks';

/** The encryptions of one send: Baileys makes one for each device of the recipient and of the own account. */
interface SendScope {
  /** Own devices that Baileys is about to encrypt for. */
  ownLeft: number;
  ownDurable: Array<Promise<void> | undefined>;
  whenOwnEnded: Array<() => void>;
}

/**
 * Lets sends to different chats run side by side. Every send is encrypted for the own phone too, and Baileys encrypts for
 * one device at a time until that is durable: all chats would wait for one another's commits there. Here the own
 * device's encryption ends when its step is in line to be stored, and the recipient's, in the same send, waits for both.
 */
export class SendScopes {
  readonly #storage = new AsyncLocalStorage<SendScope>();
  readonly #isOwn: (jid: string) => boolean;

  constructor(isOwn: (jid: string) => boolean) {
    this.#isOwn = isOwn;
  }

  /** Runs one send to a chat that is not one's own. */
  run<T>(send: () => Promise<T>): Promise<T> {
    return this.#storage.run({ ownLeft: 0, ownDurable: [], whenOwnEnded: [] }, send);
  }

  /** Nothing is sent any more; see transaction-storage.ts. */
  close(): void {
    this.#storage.disable();
  }

  /** Baileys is about to encrypt for these devices (`patchMessageBeforeSending`, called before the first of them). */
  expect(jids: readonly string[] | undefined): void {
    const scope = this.#storage.getStore();
    if (scope && jids) scope.ownLeft += jids.filter((jid) => this.#isOwn(jid)).length;
  }

  /**
   * Encrypts for one device.
   * @param encrypt resolves when the step is in line, with the promise of its being durable
   */
  async encrypt<T>(
    jid: string,
    encrypt: () => Promise<{ result: T; durable: Promise<void> | undefined }>,
  ): Promise<T> {
    const scope = this.#storage.getStore();
    if (scope && this.#isOwn(jid)) return this.#encryptForOwn(scope, encrypt);
    const { result, durable } = await encrypt();
    if (scope && scope.ownLeft > 0) await new Promise<void>((go) => scope.whenOwnEnded.push(go));
    await Promise.all([durable, ...(scope?.ownDurable ?? [])]);
    return result;
  }

  async #encryptForOwn<T>(
    scope: SendScope,
    encrypt: () => Promise<{ result: T; durable: Promise<void> | undefined }>,
  ): Promise<T> {
    try {
      const { result, durable } = await encrypt();
      // Awaited by the recipient's encryption; were there none, its failure must not count as unhandled.
      durable?.catch(() => undefined);
      scope.ownDurable.push(durable);
      return result;
    } finally {
      scope.ownLeft -= 1;
      if (scope.ownLeft <= 0) for (const go of scope.whenOwnEnded.splice(0)) go();
    }
  }
}
