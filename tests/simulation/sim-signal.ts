import { MISSING_KEYS_ERROR_TEXT, proto, type SignalRepositoryWithLIDStore } from '@whiskeysockets/baileys';
import type {
  AccountSignal,
  SignalSteps,
} from '../../router/src/providers/baileys/signal/signal-repository.ts';
import { encryptedEdit } from '../whatsapp-emulator/message-content.ts';

/** What a message says. */
export interface Content {
  text: string;
  /** WhatsApp id of the message whose text this one replaces. */
  editOf?: string;
  /** JID of its author, when the phone encrypts the edit with the secret of that message. */
  encryptedBy?: string;
  /** Path of a picture at WhatsApp's media server; the text is its caption. */
  file?: string;
}

/** A ciphertext as a ratchet makes it: only who has the key with this number of this chain may read `content`. */
export interface Ciphertext {
  chain: string;
  number: number;
  content: Content;
  /** Damaged on the way: no key reads it. */
  isDamaged?: boolean;
}

/** Receiving end of a chain: the next number, and the keys of skipped ones. A key is used up by reading with it. */
export interface Ratchet {
  next: number;
  skipped: readonly number[];
}

export const NEW_RATCHET: Ratchet = { next: 0, skipped: [] };

const MESSAGE_EDIT = 14;

/** The key category of ratchets; its values are plain JSON. */
export const RATCHETS = 'device-list';

export type Reading =
  | { kind: 'read'; content: Content; ratchet: Ratchet }
  | { kind: 'spent' }
  | { kind: 'damaged' };

/** Reads a ciphertext and gives the ratchet after it. Pure. */
export function decrypt(ratchet: Ratchet, { number, content, isDamaged }: Ciphertext): Reading {
  if (isDamaged) return { kind: 'damaged' };
  const { next, skipped } = ratchet;
  if (number >= next) {
    const passed = Array.from({ length: number - next }, (_, index) => next + index);
    return { kind: 'read', content, ratchet: { next: number + 1, skipped: [...skipped, ...passed] } };
  }
  if (!skipped.includes(number)) return { kind: 'spent' };
  return { kind: 'read', content, ratchet: { next, skipped: skipped.filter((each) => each !== number) } };
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
      const plaintext = padded(proto.Message.encode(messageOf(reading.content)).finish());
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
    decryptor: async () => {
      const plaintexts: Uint8Array[] = [];
      const repository = repositoryOf(plaintexts);
      return { plaintexts, repository, isIdentityNew: false, discard: () => undefined };
    },
    learn: async () => ({ moved: [], isNew: false }),
  };
}

/** The next ciphertext of a chain to one chat; its number is used up with the step's unit. Inside a step. */
export async function encryptTo(steps: SignalSteps, to: string, content: Content): Promise<Ciphertext> {
  const chain = `out/${to}`;
  const { next } = (await readRatchet(steps, chain)) ?? NEW_RATCHET;
  await writeRatchet(steps, chain, { next: next + 1, skipped: [] });
  return { chain, number: next, content };
}

async function readRatchet(steps: SignalSteps, chain: string): Promise<Ratchet | undefined> {
  const found = await steps.keys.get(RATCHETS, [chain]);
  return found[chain] as unknown as Ratchet | undefined;
}

async function writeRatchet(steps: SignalSteps, chain: string, ratchet: Ratchet): Promise<void> {
  await steps.keys.set({ [RATCHETS]: { [chain]: ratchet as unknown as string[] } });
}

/** Nothing in a simulation depends on the values of the keys of a file or the secret of a message. */
const FILE_KEY = new Uint8Array(32).fill(7);

function messageOf({ text, editOf, encryptedBy, file }: Content): proto.IMessage {
  const message = file === undefined ? { conversation: text } : { imageMessage: pictureOf(text, file) };
  if (editOf === undefined) return { ...message, messageContextInfo: { messageSecret: FILE_KEY } };
  if (encryptedBy !== undefined) {
    return encryptedEdit({ id: editOf, secret: FILE_KEY, author: encryptedBy }, encryptedBy, text);
  }
  return { protocolMessage: { type: MESSAGE_EDIT, key: { id: editOf }, editedMessage: message } };
}

function pictureOf(caption: string, directPath: string): proto.Message.IImageMessage {
  const keys = { mediaKey: FILE_KEY, fileSha256: FILE_KEY, fileEncSha256: FILE_KEY };
  return { caption, directPath, mimetype: 'image/jpeg', ...keys };
}

/** The uploaded form of a reply's picture, as `relayMessage` takes it. */
export function uploadedPicture(caption: string, path: string): Uint8Array {
  return proto.Message.encode({ imageMessage: pictureOf(caption, path) }).finish();
}

/** As `unpadRandomMax16` removes it. */
function padded(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([bytes, Buffer.from([1])]);
}
