import {
  createDecipheriv,
  createHash,
  createHmac,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
  sign,
  verify,
} from 'node:crypto';
import { proto } from '@whiskeysockets/baileys';
import { EmulatorError } from './emulator-error.ts';

/** The domain of WhatsApp's passkeys, and the origin on which it accepts them. */
const RP_ID = 'whatsapp.com';
const ORIGIN = 'https://web.whatsapp.com';
/** Flags of authenticator data: the user was present, and was verified. */
const PRESENT_AND_VERIFIED = 0x05;
const LETTERS = '123456789ABCDEFGHJKLMNPQRSTVWXYZ';

/** WebAuthn's PublicKeyCredentialRequestOptions with base64url in place of bytes, as WhatsApp sends them. */
export interface PasskeyRequestOptions {
  readonly challenge: string;
  readonly rpId: string;
  readonly allowCredentials: ReadonlyArray<{ readonly type: 'public-key'; readonly id: string }>;
  readonly userVerification: 'required';
  readonly timeout: number;
}

/** A passkey of an account's owner, registered at WhatsApp: ECDSA with P-256. */
export class Passkey {
  readonly credentialId = randomBytes(16);
  readonly privateKey: KeyObject;
  readonly #publicKey: KeyObject;

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.privateKey = privateKey;
    this.#publicKey = publicKey;
  }

  /** What WhatsApp asks the owner to sign, with a fresh challenge. */
  requestOptions(): PasskeyRequestOptions {
    return {
      challenge: randomBytes(32).toString('base64url'),
      rpId: RP_ID,
      allowCredentials: [{ type: 'public-key', id: this.credentialId.toString('base64url') }],
      userVerification: 'required',
      timeout: 120_000,
    };
  }

  /** Signs as an authenticator does, without a browser. @returns the PublicKeyCredential as JSON */
  sign({ challenge }: Pick<PasskeyRequestOptions, 'challenge'>, origin = ORIGIN): string {
    const clientData = Buffer.from(JSON.stringify({ type: 'webauthn.get', challenge, origin }));
    const authenticatorData = Buffer.concat([sha256(RP_ID), Buffer.from([PRESENT_AND_VERIFIED, 0, 0, 0, 1])]);
    const signature = sign('sha256', Buffer.concat([authenticatorData, sha256(clientData)]), this.privateKey);
    const id = this.credentialId.toString('base64url');
    return JSON.stringify({
      id,
      rawId: id,
      type: 'public-key',
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: authenticatorData.toString('base64url'),
        signature: signature.toString('base64url'),
        userHandle: null,
      },
    });
  }

  /** The relying party's check. @throws {EmulatorError} naming what is wrong with the answer */
  check({ challenge }: PasskeyRequestOptions, credentialId: Uint8Array, assertion: string): void {
    const { rawId, response } = JSON.parse(assertion) as {
      rawId: string;
      response: { clientDataJSON: string; authenticatorData: string; signature: string };
    };
    const [clientData, authenticatorData, signature] = [
      response.clientDataJSON,
      response.authenticatorData,
      response.signature,
    ].map((text) => Buffer.from(text, 'base64url')) as [Buffer, Buffer, Buffer];
    const client = JSON.parse(clientData.toString()) as Record<string, unknown>;
    const isSigned = verify(
      'sha256',
      Buffer.concat([authenticatorData, sha256(clientData)]),
      this.#publicKey,
      signature,
    );
    const checks: Array<[string, boolean]> = [
      [
        'credential',
        this.credentialId.equals(credentialId) && rawId === this.credentialId.toString('base64url'),
      ],
      ['type', client.type === 'webauthn.get'],
      ['challenge', client.challenge === challenge],
      ['origin', client.origin === ORIGIN],
      ['domain', authenticatorData.subarray(0, 32).equals(sha256(RP_ID))],
      ['flags', ((authenticatorData[32] ?? 0) & PRESENT_AND_VERIFIED) === PRESENT_AND_VERIFIED],
      ['signature', isSigned],
    ];
    const wrong = checks.find(([, isRight]) => !isRight);
    if (wrong) throw new EmulatorError(`the passkey's ${wrong[0]} is wrong`);
  }
}

/** The keys of a device that its encrypted pairing request names. */
export interface RequestedDevice {
  noiseKey: Buffer;
  identityKey: Buffer;
  advSecret: Buffer;
}

/** The phone's part of linking with a passkey; the server passes its messages on. */
export class PhonePasskeyCeremony {
  readonly #scannedSecret: Uint8Array;
  readonly #own = generateKeyPairSync('x25519');
  readonly #nonce = randomBytes(32);
  #companion:
    | { identity: Uint8Array; publicKey: Uint8Array; deviceType: number; ref: string; hash: Uint8Array }
    | undefined;
  #code: string | undefined;

  /** @param scannedSecret ADV secret of the code that the owner scanned */
  constructor(scannedSecret: Uint8Array) {
    this.#scannedSecret = scannedSecret;
  }

  /** The code that the phone shows, as soon as the client has opened its commitment. */
  get code(): string | undefined {
    return this.#code;
  }

  /** @returns an encoded PrimaryEphemeralIdentity @throws {EmulatorError} the prologue is not of the scanned client */
  begin(payload: Uint8Array, proof: Uint8Array | undefined, ref: string | undefined): Uint8Array {
    const key = Buffer.from(hkdfSync('sha256', this.#scannedSecret, '', 'shortcake-passkey-handoff-v1', 32));
    const expected = createHmac('sha256', key).update(payload).digest();
    if (!proof || !expected.equals(proof)) throw new EmulatorError('the proof of the scanned code is wrong');
    const { companionEphemeralIdentity: identity, commitment } = proto.ProloguePayload.decode(payload);
    const companion = proto.CompanionEphemeralIdentity.decode(identity ?? new Uint8Array());
    if (
      !identity ||
      companion.publicKey?.length !== 32 ||
      commitment?.hash?.length !== 32 ||
      companion.ref !== ref
    ) {
      throw new EmulatorError('the prologue is incomplete');
    }
    const { publicKey, deviceType } = companion;
    this.#companion = {
      identity,
      publicKey,
      deviceType: deviceType ?? 0,
      ref: ref ?? '',
      hash: commitment.hash,
    };
    return this.identity(this.#nonce);
  }

  /** An encoded PrimaryEphemeralIdentity with another nonce, as somebody between phone and client would send it. */
  identity(nonce: Uint8Array): Uint8Array {
    return proto.PrimaryEphemeralIdentity.encode({ publicKey: this.#publicKey, nonce }).finish();
  }

  /** The client opens its commitment. @throws {EmulatorError} it committed to something else */
  open(nonce: Uint8Array): void {
    const { identity, hash } = this.#begun();
    const committed = createHash('sha256').update(identity).update(nonce).digest();
    if (!committed.equals(hash)) throw new EmulatorError('the commitment does not open');
    const digest = createHash('sha256').update(nonce).update(this.#publicKey).digest();
    const bits = [...this.#nonce.subarray(0, 5)]
      .map((byte, at) => (byte ^ (digest[at] ?? 0)).toString(2).padStart(8, '0'))
      .join('');
    this.#code = (bits.match(/.{5}/g) ?? []).map((five) => LETTERS.charAt(Number.parseInt(five, 2))).join('');
  }

  /** @throws {EmulatorError} the request does not decrypt */
  read(encrypted: Uint8Array): RequestedDevice {
    const { publicKey, deviceType, ref } = this.#begun();
    const { encryptedPayload, iv } = proto.EncryptedPairingRequest.decode(encrypted);
    const x = Buffer.from(publicKey).toString('base64url');
    const theirs = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x }, format: 'jwk' });
    const shared = diffieHellman({ privateKey: this.#own.privateKey, publicKey: theirs });
    const salt = `Companion Pairing ${deviceType} with ref ${ref}`;
    const key = Buffer.from(hkdfSync('sha256', shared, salt, 'Pairing Information Encryption Key', 32));
    const bytes = Buffer.from(encryptedPayload ?? []);
    const opening = createDecipheriv('aes-256-gcm', key, iv ?? new Uint8Array());
    opening.setAuthTag(bytes.subarray(-16));
    const plain = Buffer.concat([opening.update(bytes.subarray(0, -16)), opening.final()]);
    const { companionPublicKey, companionIdentityKey, advSecret } = proto.PairingRequest.decode(plain);
    return {
      noiseKey: Buffer.from(companionPublicKey ?? []),
      identityKey: Buffer.from(companionIdentityKey ?? []),
      advSecret: Buffer.from(advSecret ?? []),
    };
  }

  get #publicKey(): Buffer {
    // DER ends with the 32 bytes. As JWK, Node 20 can wait for ever: refs/baileys-workarounds.md.
    return this.#own.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
  }

  #begun() {
    if (!this.#companion) throw new EmulatorError('the ceremony has not begun');
    return this.#companion;
  }
}

function sha256(input: string | Uint8Array): Buffer {
  return createHash('sha256').update(input).digest();
}
