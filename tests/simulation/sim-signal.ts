import { MISSING_KEYS_ERROR_TEXT, proto, type SignalRepositoryWithLIDStore } from '@whiskeysockets/baileys';
import type { AccountSignal } from '../../router/src/providers/baileys/signal/signal-repository.ts';
import type { SignalSteps } from '../../router/src/providers/baileys/signal/signal-steps.ts';

/**
 * A ciphertext as a ratchet makes it: to be read by who has the key of this number of this chain. Nobody looks into
 * `text` without the key.
 */
export interface Ciphertext {
  chain: string;
  number: number;
  text: string;
  /** Damaged on the way: no key reads it. */
  isDamaged?: boolean;
}

/** Receiving end of a chain: the next number, and the keys of skipped ones. A key is used up by reading with it. */
export interface Ratchet {
  next: number;
  skipped: readonly number[];
}

export const NEW_RATCHET: Ratchet = { next: 0, skipped: [] };

/** The key category of ratchets; its values are plain JSON. */
export const RATCHETS = 'device-list';

export type Reading =
  | { kind: 'read'; text: string; ratchet: Ratchet }
  | { kind: 'spent' }
  | { kind: 'damaged' };

/** Reads a ciphertext and gives the ratchet after it. Pure. */
export function decrypt(ratchet: Ratchet, { number, text, isDamaged }: Ciphertext): Reading {
  if (isDamaged) return { kind: 'damaged' };
  const { next, skipped } = ratchet;
  if (number >= next) {
    const passed = Array.from({ length: number - next }, (_, index) => next + index);
    return { kind: 'read', text, ratchet: { next: number + 1, skipped: [...skipped, ...passed] } };
  }
  if (!skipped.includes(number)) return { kind: 'spent' };
  return { kind: 'read', text, ratchet: { next, skipped: skipped.filter((each) => each !== number) } };
}

/** The account's Signal: simulated ratchets over the production Signal steps. */
export function simAccountSignal(steps: SignalSteps): AccountSignal {
  const lidMapping = { getLIDForPN: async () => null, storeLIDPNMappings: async () => undefined };
  const repositoryOf = (plaintexts: Uint8Array[]) => {
    const read = async (bytes: Uint8Array): Promise<Uint8Array> => {
      const ciphertext = JSON.parse(Buffer.from(bytes).toString()) as Ciphertext;
      const reading = decrypt((await readRatchet(steps, ciphertext.chain)) ?? NEW_RATCHET, ciphertext);
      if (reading.kind === 'spent') throw new Error(MISSING_KEYS_ERROR_TEXT);
      if (reading.kind === 'damaged') throw new Error('Bad MAC');
      await writeRatchet(steps, ciphertext.chain, reading.ratchet);
      const plaintext = padded(proto.Message.encode({ conversation: reading.text }).finish());
      plaintexts.push(plaintext);
      return plaintext;
    };
    return {
      lidMapping,
      migrateSession: async () => undefined,
      decryptMessage: ({ ciphertext }: { ciphertext: Uint8Array }) => read(ciphertext),
      decryptGroupMessage: ({ msg }: { msg: Uint8Array }) => read(msg),
    } as unknown as SignalRepositoryWithLIDStore;
  };
  return {
    repository: repositoryOf([]),
    decryptor: () => {
      const plaintexts: Uint8Array[] = [];
      return { plaintexts, repository: repositoryOf(plaintexts) };
    },
    learn: async () => undefined,
  };
}

/** The next ciphertext of a chain to one chat; its number is used up with the step's unit. Inside a step. */
export async function encryptTo(steps: SignalSteps, to: string, text: string): Promise<Ciphertext> {
  const chain = `out/${to}`;
  const { next } = (await readRatchet(steps, chain)) ?? NEW_RATCHET;
  await writeRatchet(steps, chain, { next: next + 1, skipped: [] });
  return { chain, number: next, text };
}

async function readRatchet(steps: SignalSteps, chain: string): Promise<Ratchet | undefined> {
  const found = await steps.keys.get(RATCHETS, [chain]);
  return found[chain] as unknown as Ratchet | undefined;
}

async function writeRatchet(steps: SignalSteps, chain: string, ratchet: Ratchet): Promise<void> {
  await steps.keys.set({ [RATCHETS]: { [chain]: ratchet as unknown as string[] } });
}

/** As `unpadRandomMax16` takes it off. */
function padded(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([bytes, Buffer.from([1])]);
}
