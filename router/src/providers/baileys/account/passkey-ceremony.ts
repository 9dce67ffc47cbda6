import { createCipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import {
  type BinaryNode,
  bytesToCrockford,
  Curve,
  getBinaryNodeChildBuffer,
  type KeyPair,
  proto,
  S_WHATSAPP_NET,
  type WASocket,
} from '@whiskeysockets/baileys';
import { z } from 'zod';
import type { Clock } from '../../../core/clock.ts';
import { PasskeyAnswerError, PasskeyNotAskedError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { PHRASES, say } from '../../../core/phrases.ts';
import type { PasskeyInput, PasskeyStatus } from '../../../core/ports/chat-provider.ts';
import type { AuthState } from '../signal/auth-state.ts';

/*
 * Linking with a passkey ("Shortcake" in WhatsApp Web), which Baileys does not know. Workaround, with the sources of each
 * fact and what is not known: refs/baileys-workarounds.md.
 *
 *   WhatsApp  passkey_prologue_request   options of WebAuthn                    -> step `sign`
 *   owner     signs them on web.whatsapp.com and pastes the answer
 *   wa2ai     ref?, passkey_prologue     answer, ephemeral key, commitment      -> step `phone`
 *   phone     crsc_continuation          its ephemeral key and nonce
 *   wa2ai     companion_nonce            opens the commitment                   -> step `compare`
 *   owner     compares the code here with the one on the phone
 *   wa2ai     encrypted_pairing_request  keys and the new ADV secret            -> step `finish`
 *   WhatsApp  pair-success               as with a QR code; Baileys handles it
 *
 * All of it is in memory and belongs to one socket: a crash, a lost connection or a refusal leaves an account without a
 * link.
 */

/** How long the owner may take to sign: WhatsApp Web keeps the proof of the scanned code for as long. */
const SIGN_MS = 5 * 60_000;
/** How long each later step may take, as in WhatsApp Web. */
const STEP_MS = 2 * 60_000;
/** `webauthn` options may have this many bytes. */
const MAX_OPTIONS_BYTES = 4_096;
const KEY_BYTES = 32;
/** The origin on which the owner signs. */
const ORIGIN = 'https://web.whatsapp.com';
const DEVICE_TYPE = proto.DeviceProps.PlatformType.CHROME;

/** What wa2ai commits to before it knows the phone's nonce. */
interface Companion {
  ref: string;
  keyPair: KeyPair;
  nonce: Uint8Array;
}

/** The phone's half: 32 bytes each. */
interface Primary {
  publicKey: Uint8Array;
  nonce: Uint8Array;
}

type CeremonyState =
  | { step: 'none' }
  | { step: 'sign'; options: string; handoffKey: Uint8Array | undefined }
  | { step: 'ref'; answer: Assertion; handoffKey: Uint8Array | undefined }
  | { step: 'phone'; companion: Companion }
  | { step: 'reveal'; encryptionKey: Uint8Array; code: string }
  | { step: 'compare'; encryptionKey: Uint8Array; code: string }
  | { step: 'finish' }
  | { step: 'linked' }
  | { step: 'failed'; reason: string };

type CeremonyEvent =
  /** WhatsApp asks for a passkey. `advSecret`: the one of the code that the phone scanned. */
  | { kind: 'requested'; options: string; advSecret: Uint8Array }
  | { kind: 'answered'; answer: Assertion }
  | { kind: 'ref-received'; companion: Companion }
  | { kind: 'continued'; primary: Primary }
  | { kind: 'nonce-received' }
  | { kind: 'compared'; isSame: boolean }
  | { kind: 'paired' }
  /** `reason`: a sentence. */
  | { kind: 'failed'; reason: string };

type CeremonyEffect =
  /** Makes a new ADV secret: WhatsApp has seen what the old one signs. */
  | { do: 'renew-secret' }
  | { do: 'get-ref' }
  | { do: 'send-prologue'; content: BinaryNode[] }
  | { do: 'send-nonce'; nonce: Uint8Array }
  | { do: 'send-pairing-request'; encryptionKey: Uint8Array }
  /** Nothing is linked; the socket must end. */
  | { do: 'give-up'; reason: string };

interface Next {
  state: CeremonyState;
  effects: CeremonyEffect[];
}

/** One step of the ceremony. Pure. An event that does not belong to the state changes nothing. */
export function nextOf(state: CeremonyState, event: CeremonyEvent): Next {
  const { step } = state;
  const same: Next = { state, effects: [] };
  if (step === 'linked' || step === 'failed') return same;
  switch (event.kind) {
    case 'requested': {
      const { options, advSecret } = event;
      // A repeated request, of another challenge, must not lose the proof of the scanned code.
      if (step === 'sign') return { state: { ...state, options }, effects: [] };
      const handoffKey = step === 'none' ? handoffKeyOf(advSecret) : undefined;
      const effects: CeremonyEffect[] = step === 'none' ? [{ do: 'renew-secret' }] : [];
      return { state: { step: 'sign', options, handoffKey }, effects };
    }
    case 'answered':
      if (step !== 'sign') return same;
      return {
        state: { step: 'ref', answer: event.answer, handoffKey: state.handoffKey },
        effects: [{ do: 'get-ref' }],
      };
    case 'ref-received': {
      if (step !== 'ref') return same;
      const { companion } = event;
      const content = prologueOf(companion, state.answer, state.handoffKey);
      return { state: { step: 'phone', companion }, effects: [{ do: 'send-prologue', content }] };
    }
    case 'continued': {
      if (step !== 'phone') return same;
      const { companion } = state;
      const encryptionKey = encryptionKeyOf(companion, event.primary);
      if (!encryptionKey) return failed(PHRASES['passkey.bad-key']);
      const code = codeOf(companion, event.primary);
      return {
        state: { step: 'reveal', encryptionKey, code },
        effects: [{ do: 'send-nonce', nonce: companion.nonce }],
      };
    }
    case 'nonce-received':
      return step === 'reveal' ? { state: { ...state, step: 'compare' }, effects: [] } : same;
    case 'compared':
      if (step !== 'compare') return same;
      if (!event.isSame) {
        return failed(PHRASES['passkey.codes-differ']);
      }
      return {
        state: { step: 'finish' },
        effects: [{ do: 'send-pairing-request', encryptionKey: state.encryptionKey }],
      };
    case 'paired':
      return step === 'none' ? same : { state: { step: 'linked' }, effects: [] };
    case 'failed':
      return step === 'none' ? same : failed(event.reason);
  }
}

function failed(reason: string): Next {
  return { state: { step: 'failed', reason }, effects: [{ do: 'give-up', reason }] };
}

/** The key of the proof that this is the client whose code the phone scanned. */
function handoffKeyOf(advSecret: Uint8Array): Uint8Array {
  return hkdf(advSecret, '', 'shortcake-passkey-handoff-v1');
}

/** The children of `passkey_prologue`. */
function prologueOf(
  companion: Companion,
  answer: Assertion,
  handoffKey: Uint8Array | undefined,
): BinaryNode[] {
  const identity = proto.CompanionEphemeralIdentity.encode({
    publicKey: companion.keyPair.public,
    deviceType: DEVICE_TYPE,
    ref: companion.ref,
  }).finish();
  const hash = createHash('sha256').update(identity).update(companion.nonce).digest();
  const payload = proto.ProloguePayload.encode({
    companionEphemeralIdentity: identity,
    commitment: { hash },
  }).finish();
  const node = (tag: string, content: Uint8Array): BinaryNode => ({ tag, attrs: {}, content });
  return [
    node('credential_id', Buffer.from(answer.rawId, 'base64url')),
    node('webauthn_assertion', Buffer.from(JSON.stringify(answer))),
    node('prologue_payload', payload),
    ...(handoffKey
      ? [node('pairing_handoff_proof', createHmac('sha256', handoffKey).update(payload).digest())]
      : []),
  ];
}

/** Undefined: the phone's key gives the same result with every key. */
function encryptionKeyOf({ ref, keyPair }: Companion, { publicKey }: Primary): Uint8Array | undefined {
  let shared: Uint8Array;
  try {
    shared = Curve.sharedKey(keyPair.private, publicKey);
  } catch {
    return undefined;
  }
  return hkdf(
    shared,
    `Companion Pairing ${DEVICE_TYPE} with ref ${ref}`,
    'Pairing Information Encryption Key',
  );
}

/** The eight letters that both sides show. */
function codeOf(companion: Companion, { publicKey, nonce }: Primary): string {
  const digest = createHash('sha256').update(companion.nonce).update(publicKey).digest();
  return bytesToCrockford(Buffer.from(nonce.subarray(0, 5).map((byte, at) => byte ^ (digest[at] ?? 0))));
}

function hkdf(input: Uint8Array, salt: string, info: string): Uint8Array {
  return Buffer.from(hkdfSync('sha256', input, salt, info, KEY_BYTES));
}

const base64url = z.string().regex(/^[A-Za-z0-9_-]+={0,2}$/);

/** What `navigator.credentials.get` returns, in base64url. Keys in the order in which WhatsApp Web sends them. */
const assertionSchema = z.object({
  id: base64url,
  rawId: base64url,
  type: z.literal('public-key'),
  response: z.object({
    clientDataJSON: base64url,
    authenticatorData: base64url,
    signature: base64url,
    userHandle: base64url.nullish().transform((value) => value ?? null),
  }),
});
type Assertion = z.output<typeof assertionSchema>;

/** What WhatsApp asks for; other keys are kept. */
const optionsSchema = z.looseObject({ challenge: base64url });

const clientDataSchema = z.object({ type: z.string(), challenge: z.string(), origin: z.string() });

/**
 * Reads what the owner pasted.
 * @throws {PasskeyAnswerError} it is not an answer to these options
 */
function answerOf(text: string, options: string): Assertion {
  const answer = parsed(assertionSchema, text);
  const clientData = answer && parsed(clientDataSchema, fromBase64url(answer.response.clientDataJSON));
  if (!answer || clientData?.type !== 'webauthn.get') {
    throw new PasskeyAnswerError(say('passkey.wrong-answer'));
  }
  if (clientData.origin !== ORIGIN) {
    throw new PasskeyAnswerError(
      say('passkey.wrong-origin', { origin: clientData.origin, expected: ORIGIN }),
    );
  }
  const { challenge } = optionsSchema.parse(JSON.parse(options));
  if (unpadded(clientData.challenge) !== unpadded(challenge)) {
    throw new PasskeyAnswerError(say('passkey.earlier-request'));
  }
  return answer;
}

function parsed<T>(schema: z.ZodType<T>, text: string): T | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

const fromBase64url = (text: string) => Buffer.from(text, 'base64url').toString();
const unpadded = (text: string) => text.replace(/={1,2}$/, '');

interface PasskeyCeremonyOptions {
  socket: Pick<WASocket, 'query'>;
  auth: Pick<AuthState, 'creds' | 'saveCreds'>;
  clock: Clock;
  log: Logger;
  accountId: string;
  /** The ceremony is at a new step. */
  onStep(status: PasskeyStatus, expiresAtMs: number): void;
  /** Nothing is linked: the socket must end. `reason`: a sentence. */
  onGivenUp(reason: string): void;
}

/** The ceremony of one socket. */
export class PasskeyCeremony {
  readonly #options: PasskeyCeremonyOptions;
  #state: CeremonyState = { step: 'none' };
  #deadline = new AbortController();

  constructor(options: PasskeyCeremonyOptions) {
    this.#options = options;
  }

  /** `passkey_prologue_request`. */
  async requested(notification: BinaryNode): Promise<void> {
    const advSecret = Buffer.from(this.#options.auth.creds.advSecretKey, 'base64');
    const options = optionsIn(notification) ?? optionsIn(await this.#query('get', 'passkey_request_options'));
    if (options) return this.#take({ kind: 'requested', options, advSecret });
    this.#options.onGivenUp(PHRASES['passkey.unknown-form']);
  }

  /** `crsc_continuation`. */
  continued(notification: BinaryNode): void {
    const bytes = getBinaryNodeChildBuffer(notification, 'primary_ephemeral_identity');
    const primary = bytes && primaryOf(bytes);
    this.#take(
      primary
        ? { kind: 'continued', primary }
        : { kind: 'failed', reason: PHRASES['passkey.unknown-continuation'] },
    );
  }

  /**
   * What the owner did.
   * @throws {PasskeyAnswerError} the answer cannot be used; the ceremony waits for another one
   * @throws {PasskeyNotAskedError} the ceremony is at another step
   */
  input(input: PasskeyInput): void {
    const state = this.#state;
    if ('answer' in input && state.step === 'sign') {
      this.#take({ kind: 'answered', answer: answerOf(input.answer, state.options) });
    } else if ('isSameCode' in input && state.step === 'compare') {
      this.#take({ kind: 'compared', isSame: input.isSameCode });
    } else {
      throw new PasskeyNotAskedError(this.#options.accountId);
    }
  }

  /** The phone linked the device. */
  paired(): void {
    this.#take({ kind: 'paired' });
  }

  /** The socket has ended: nothing is reported any more. */
  end(): void {
    this.#deadline.abort();
    this.#state = { step: 'failed', reason: PHRASES['passkey.connection-ended'] };
  }

  #take(event: CeremonyEvent): void {
    const before = this.#state;
    const { state, effects } = nextOf(before, event);
    if (state === before) return;
    this.#state = state;
    this.#show();
    for (const effect of effects) {
      this.#perform(effect).catch((error: unknown) => {
        if (this.#state !== state) return;
        this.#options.log.warn({ err: error, step: state.step }, 'passkey ceremony refused');
        this.#take({ kind: 'failed', reason: PHRASES['passkey.refused'] });
      });
    }
  }

  #show(): void {
    const { clock, onStep } = this.#options;
    const state = this.#state;
    this.#deadline.abort();
    const status = statusOf(state);
    if (!status) return;
    this.#deadline = new AbortController();
    const forMs = status.step === 'sign' ? SIGN_MS : STEP_MS;
    onStep(status, clock.now() + forMs);
    clock.sleep(forMs, this.#deadline.signal).then(
      () => this.#take({ kind: 'failed', reason: LATE[status.step] }),
      () => undefined,
    );
  }

  async #perform(effect: CeremonyEffect): Promise<void> {
    const { auth, onGivenUp } = this.#options;
    switch (effect.do) {
      case 'renew-secret':
        auth.creds.advSecretKey = randomBytes(KEY_BYTES).toString('base64');
        auth.saveCreds();
        return;
      case 'get-ref': {
        const ref = getBinaryNodeChildBuffer(await this.#query('get', 'ref'), 'ref');
        if (!ref) throw new Error('the response has no ref');
        const companion = {
          ref: Buffer.from(ref).toString(),
          keyPair: Curve.generateKeyPair(),
          nonce: randomBytes(KEY_BYTES),
        };
        return this.#take({ kind: 'ref-received', companion });
      }
      case 'send-prologue':
        await this.#query('set', 'passkey_prologue', effect.content);
        return;
      case 'send-nonce':
        await this.#query('set', 'companion_nonce', effect.nonce);
        return this.#take({ kind: 'nonce-received' });
      case 'send-pairing-request':
        await this.#query('set', 'encrypted_pairing_request', this.#pairingRequest(effect.encryptionKey));
        return;
      case 'give-up':
        onGivenUp(effect.reason);
    }
  }

  #pairingRequest(encryptionKey: Uint8Array): Uint8Array {
    const { noiseKey, signedIdentityKey, advSecretKey } = this.#options.auth.creds;
    const request = proto.PairingRequest.encode({
      companionPublicKey: noiseKey.public,
      companionIdentityKey: signedIdentityKey.public,
      advSecret: Buffer.from(advSecretKey, 'base64'),
    }).finish();
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', encryptionKey, iv);
    const encryptedPayload = Buffer.concat([cipher.update(request), cipher.final(), cipher.getAuthTag()]);
    return proto.EncryptedPairingRequest.encode({ encryptedPayload, iv }).finish();
  }

  #query(type: 'get' | 'set', tag: string, content?: BinaryNode['content']): Promise<BinaryNode> {
    const child: BinaryNode = { tag, attrs: {}, ...(content !== undefined && { content }) };
    return this.#options.socket.query({
      tag: 'iq',
      attrs: { to: S_WHATSAPP_NET, type, xmlns: 'md' },
      content: [child],
    });
  }
}

/** What the owner sees; undefined before the ceremony and after it. */
function statusOf(state: CeremonyState): PasskeyStatus | undefined {
  switch (state.step) {
    case 'sign':
      return { step: 'sign', options: state.options };
    case 'ref':
    case 'phone':
    case 'reveal':
      return { step: 'phone' };
    case 'compare':
      return { step: 'compare', code: state.code };
    case 'finish':
      return { step: 'finish' };
    default:
      return undefined;
  }
}

const LATE: Record<PasskeyStatus['step'], string> = {
  sign: PHRASES['passkey.not-used'],
  phone: PHRASES['passkey.not-continued'],
  compare: PHRASES['passkey.not-compared'],
  finish: PHRASES['passkey.not-linked'],
};

/** The options in a notification or a response, as JSON; undefined: none that can be used. */
function optionsIn(node: BinaryNode): string | undefined {
  const bytes = getBinaryNodeChildBuffer(node, 'passkey_request_options');
  if (!bytes || bytes.length > MAX_OPTIONS_BYTES) return undefined;
  const options = parsed(optionsSchema, Buffer.from(bytes).toString());
  return options && JSON.stringify(options);
}

function primaryOf(bytes: Uint8Array): Primary | undefined {
  try {
    const { publicKey, nonce } = proto.PrimaryEphemeralIdentity.decode(bytes);
    if (publicKey?.length === KEY_BYTES && nonce?.length === KEY_BYTES) return { publicKey, nonce };
  } catch {
    // Not the message: as one without a key.
  }
  return undefined;
}
