import {
  aesDecryptGCM,
  aesEncryptGCM,
  Curve,
  hkdf,
  type KeyPair,
  NOISE_MODE,
  NOISE_WA_HEADER,
  proto,
  sha256,
} from '@whiskeysockets/baileys';
import { EmulatorError } from './emulator-error.ts';

const NOTHING = Buffer.alloc(0);
const YEAR_S = 365 * 24 * 3600;

/** The server's static Noise key and its certificate chain. */
export interface ServerIdentity {
  readonly keyPair: KeyPair;
  readonly chain: Uint8Array;
}

/**
 * Creates a server key with its chain: root signs intermediate, intermediate signs leaf, leaf contains the key. The root is
 * not WhatsApp's, which wa2ai accepts at another address than WhatsApp's. `isForged`: the leaf is not signed by the intermediate.
 */
export function makeServerIdentity(isForged = false, nowS = Math.floor(Date.now() / 1000)): ServerIdentity {
  const root = Curve.generateKeyPair();
  const intermediate = Curve.generateKeyPair();
  const keyPair = Curve.generateKeyPair();
  const validity = { notBefore: nowS - YEAR_S, notAfter: nowS + YEAR_S };
  const certificate = (signer: KeyPair, serial: number, issuerSerial: number, key: Uint8Array) => {
    const details = proto.CertChain.NoiseCertificate.Details.encode({
      serial,
      issuerSerial,
      key,
      ...validity,
    }).finish();
    return { details, signature: Curve.sign(signer.private, Buffer.from(details)) };
  };
  const chain = proto.CertChain.encode({
    intermediate: certificate(root, 1, 0, intermediate.public),
    leaf: certificate(isForged ? root : intermediate, 2, 1, keyPair.public),
  }).finish();
  return { keyPair, chain };
}

/** The contents of the client's last handshake message. */
export interface ClientFinish {
  /** The client's Noise static public key, which identifies a device permanently. */
  readonly noiseKey: Buffer;
  readonly payload: proto.ClientPayload;
}

/**
 * The responder of Noise_XX_25519_AESGCM_SHA256 as WhatsApp Web speaks it, then the transport cipher of one connection.
 * Calls in this order: `hello`, `finish`, then `seal` and `open` as often as needed, each in wire order.
 */
export class NoiseServer {
  #hash: Buffer;
  #salt: Buffer;
  #key: Buffer;
  #counter = 0;
  #sendKey: Buffer = NOTHING;
  #receiveKey: Buffer = NOTHING;
  #sent = 0;
  #received = 0;
  readonly #ephemeral = Curve.generateKeyPair();
  readonly #identity: ServerIdentity;

  constructor(identity: ServerIdentity) {
    this.#identity = identity;
    this.#hash = Buffer.from(NOISE_MODE);
    this.#salt = this.#hash;
    this.#key = this.#hash;
    this.#mixHash(NOISE_WA_HEADER);
  }

  /** Returns the response to the client's first frame. */
  hello(frame: Uint8Array): Uint8Array {
    const theirs = proto.HandshakeMessage.decode(frame).clientHello?.ephemeral;
    if (!theirs?.length) throw new EmulatorError('the first frame is no client hello');
    this.#mixHash(theirs);
    this.#mixHash(this.#ephemeral.public);
    this.#mixKey(Curve.sharedKey(this.#ephemeral.private, theirs));
    const sealedStatic = this.#encrypt(this.#identity.keyPair.public);
    this.#mixKey(Curve.sharedKey(this.#identity.keyPair.private, theirs));
    const payload = this.#encrypt(this.#identity.chain);
    const serverHello = { ephemeral: this.#ephemeral.public, static: sealedStatic, payload };
    return proto.HandshakeMessage.encode({ serverHello }).finish();
  }

  /** Reads the client's second frame; later frames are encrypted. */
  finish(frame: Uint8Array): ClientFinish {
    const finish = proto.HandshakeMessage.decode(frame).clientFinish;
    if (!finish?.static || !finish.payload) throw new EmulatorError('the second frame is no client finish');
    const noiseKey = this.#decrypt(finish.static);
    this.#mixKey(Curve.sharedKey(this.#ephemeral.private, noiseKey));
    const payload = proto.ClientPayload.decode(this.#decrypt(finish.payload));
    [this.#receiveKey, this.#sendKey] = this.#derive(NOTHING);
    return { noiseKey, payload };
  }

  seal(plaintext: Uint8Array): Buffer {
    return aesEncryptGCM(plaintext, this.#sendKey, iv(this.#sent++), NOTHING);
  }

  open(ciphertext: Uint8Array): Buffer {
    return aesDecryptGCM(ciphertext, this.#receiveKey, iv(this.#received++), NOTHING);
  }

  #mixHash(data: Uint8Array): void {
    this.#hash = sha256(Buffer.concat([this.#hash, data]));
  }

  #derive(data: Uint8Array): [Buffer, Buffer] {
    const okm = Buffer.from(hkdf(data, 64, { salt: this.#salt, info: '' }));
    return [okm.subarray(0, 32), okm.subarray(32)];
  }

  #mixKey(data: Uint8Array): void {
    [this.#salt, this.#key] = this.#derive(data);
    this.#counter = 0;
  }

  #encrypt(plaintext: Uint8Array): Buffer {
    const sealed = aesEncryptGCM(plaintext, this.#key, iv(this.#counter++), this.#hash);
    this.#mixHash(sealed);
    return sealed;
  }

  #decrypt(ciphertext: Uint8Array): Buffer {
    const opened = aesDecryptGCM(ciphertext, this.#key, iv(this.#counter++), this.#hash);
    this.#mixHash(ciphertext);
    return opened;
  }
}

function iv(counter: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes.writeUInt32BE(counter, 8);
  return bytes;
}
