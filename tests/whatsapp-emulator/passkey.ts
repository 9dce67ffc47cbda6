import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';

/** The domain of WhatsApp's passkeys. */
export const RP_ID = 'whatsapp.com';

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
  readonly publicKey: KeyObject;

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.privateKey = privateKey;
    this.publicKey = publicKey;
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
}
