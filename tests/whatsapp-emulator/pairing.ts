import { randomBytes } from 'node:crypto';
import { type BinaryNode, getBinaryNodeChild, type proto } from '@whiskeysockets/baileys';
import type { PairRequest, PasskeyLink, PhoneActor } from './actors.ts';
import { accountKeyOf, checkDeviceIdentity } from './adv-identity.ts';
import type { Connection } from './connection.ts';
import { Device } from './device.ts';
import type { EmulatorContext } from './emulator-context.ts';
import { EmulatorError } from './emulator-error.ts';
import { streamError } from './faults.ts';
import { mintRef } from './login.ts';
import { bytesOf, childBytes, children, deviceJid, node, SERVER, seconds, uintOf } from './nodes.ts';
import type { PasskeyRequestOptions } from './passkey.ts';

const REF_COUNT = 6;
const SIGN_TIMEOUT_MS = 20_000;

/** A client that requests linking. */
interface Candidate {
  readonly connection: Connection;
  readonly noiseKey: Buffer;
  readonly registration: proto.ClientPayload.IDevicePairingRegistrationData;
  readonly refs: string[];
  /** ADV secrets that link no device any more. */
  readonly retired: Set<string>;
  /** Set by `companion_hello`: code pairing with this phone. */
  code?: { readonly ref: string; readonly phone: PhoneActor };
  /** Set since WhatsApp has asked for a passkey. */
  passkey?: {
    readonly link: PasskeyLink;
    readonly options: PasskeyRequestOptions;
    ref: string | undefined;
    readonly resolve: (device: string) => void;
    readonly reject: (error: unknown) => void;
  };
  /** Set while waiting for the client's signature. */
  signing?: {
    readonly iqId: string;
    readonly accountKey: Uint8Array;
    readonly done: (error?: Error) => void;
  };
}

/** Links new clients, by QR or by code. The phone does the cryptography; this class routes and registers. */
export class Pairing {
  readonly #context: EmulatorContext;
  readonly #candidates = new Map<Connection, Candidate>();

  constructor(context: EmulatorContext) {
    this.#context = context;
  }

  /** Handles the connection of a client without an account: sends the refs for its QR codes. */
  begin(connection: Connection, noiseKey: Buffer, payload: proto.ClientPayload): void {
    const registration = payload.devicePairingData;
    if (!registration) {
      connection.drop('neither a username nor registration data');
      return;
    }
    const refs = Array.from({ length: REF_COUNT }, mintRef);
    this.#candidates.set(connection, { connection, noiseKey, registration, refs, retired: new Set() });
    connection.send(
      node('iq', { from: SERVER, type: 'set', id: connection.mintId(), xmlns: 'md' }, [
        node(
          'pair-device',
          {},
          refs.map((ref) => node('ref', {}, Buffer.from(ref))),
        ),
      ]),
    );
    this.#context.events.emit('pairing', { refs });
  }

  /** Handles a stanza of a client that is not logged in. @returns false when it does not belong to pairing */
  onNode(connection: Connection, stanza: BinaryNode): boolean {
    const candidate = this.#candidates.get(connection);
    if (!candidate || stanza.tag !== 'iq') return false;
    if (stanza.attrs.type === 'result') {
      if (stanza.attrs.id === candidate.signing?.iqId) this.#signed(candidate, stanza);
      return true;
    }
    if (this.#onPasskeyNode(candidate, stanza)) return true;
    const reg = getBinaryNodeChild(stanza, 'link_code_companion_reg');
    if (reg?.attrs.stage === 'companion_hello') this.#codeHello(candidate, stanza, reg);
    else if (reg?.attrs.stage === 'companion_finish') this.#codeFinish(candidate, stanza, reg);
    else return false;
    return true;
  }

  onClosed(connection: Connection): void {
    const candidate = this.#candidates.get(connection);
    this.#candidates.delete(connection);
    candidate?.passkey?.reject(new EmulatorError('the client hung up instead of using the passkey'));
    candidate?.signing?.done(new EmulatorError('the client hung up while it was being linked'));
  }

  /** See `ServerSide.pairDevice`. */
  async pairDevice(request: PairRequest): Promise<string> {
    const candidate = this.#byRef(request.ref);
    const { phone, secretId } = request;
    if (this.#context.faults.take('retiredScans')) {
      candidate.retired.add(secretId);
      this.#notify(candidate, 'companion_reg_refresh', node('pair-device-rotate-qr'));
    }
    if (candidate.retired.has(secretId)) throw new EmulatorError('WhatsApp retired this code');
    if (request.passkey) return this.#askForPasskey(candidate, request.passkey);
    const number = this.#context.directory.nextDeviceNumber();
    const pn = deviceJid(phone.pn, number);
    const iqId = candidate.connection.mintId();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => candidate.signing?.done(new EmulatorError('the client did not sign its identity in 20 s')),
        SIGN_TIMEOUT_MS,
      );
      const done = (error?: Error) => {
        clearTimeout(timer);
        candidate.signing = undefined;
        if (error) return reject(error);
        try {
          this.#register(candidate, request, number);
          resolve(pn);
        } catch (failure) {
          reject(failure);
        }
      };
      candidate.signing = { iqId, accountKey: accountKeyOf(request.deviceIdentity), done };
      const lid = deviceJid(phone.lid, number);
      const attrs = { from: SERVER, type: 'set', id: iqId, xmlns: 'md', t: seconds(Date.now()) };
      candidate.connection.send(
        node('iq', attrs, [
          node('pair-success', {}, [
            node('device-identity', {}, Buffer.from(request.deviceIdentity)),
            node('device', { jid: pn, lid }),
            node('platform', { name: 'android' }),
          ]),
        ]),
      );
    });
  }

  /** See `ServerSide.submitLinkCode`. */
  submitLinkCode(ref: string, wrappedPrimaryEphemeral: Uint8Array, primaryIdentity: Uint8Array): void {
    const { connection } = this.#byRef(ref);
    const attrs = {
      from: SERVER,
      type: 'link_code_companion_reg',
      id: connection.mintId(),
      t: seconds(Date.now()),
    };
    connection.send(
      node('notification', attrs, [
        node('link_code_companion_reg', { stage: 'primary_hello' }, [
          node('link_code_pairing_ref', {}, Buffer.from(ref)),
          node('link_code_pairing_wrapped_primary_ephemeral_pub', {}, Buffer.from(wrappedPrimaryEphemeral)),
          node('primary_identity_pub', {}, Buffer.from(primaryIdentity)),
        ]),
      ]),
    );
  }

  /** Resolves with the new device when the owner's passkey has linked it. */
  #askForPasskey(candidate: Candidate, link: PasskeyLink): Promise<string> {
    const options = link.key.requestOptions();
    const content = Buffer.from(JSON.stringify(options));
    this.#notify(candidate, 'passkey_prologue_request', node('passkey_request_options', {}, content));
    return new Promise((resolve, reject) => {
      candidate.passkey = { link, options, ref: undefined, resolve, reject };
    });
  }

  /** A stanza of linking with a passkey. @returns false when it is none */
  #onPasskeyNode(candidate: Candidate, iq: BinaryNode): boolean {
    const [child] = children(iq);
    const { connection, passkey } = candidate;
    if (iq.attrs.xmlns !== 'md' || !child || !passkey) return false;
    const { ceremony, key } = passkey.link;
    const bytes = bytesOf(child) ?? Buffer.alloc(0);
    const attrs = { from: SERVER, id: iq.attrs.id };
    let after: () => void = () => undefined;
    let result: BinaryNode[] = [];
    try {
      switch (child.tag) {
        case 'passkey_request_options':
          result = [node(child.tag, {}, Buffer.from(JSON.stringify(passkey.options)))];
          break;
        case 'ref':
          passkey.ref = mintRef();
          result = [node('ref', {}, Buffer.from(passkey.ref))];
          break;
        case 'passkey_prologue': {
          const [id, assertion, payload] = ['credential_id', 'webauthn_assertion', 'prologue_payload'].map(
            (tag) => childBytes(child, tag) ?? Buffer.alloc(0),
          ) as [Buffer, Buffer, Buffer];
          key.check(passkey.options, id, assertion.toString());
          const own = ceremony.begin(payload, childBytes(child, 'pairing_handoff_proof'), passkey.ref);
          const isReplaced = this.#context.faults.take('replacedNonces');
          const identity = isReplaced ? ceremony.identity(randomBytes(32)) : own;
          const sent = node('primary_ephemeral_identity', {}, Buffer.from(identity));
          after = () => this.#notify(candidate, 'crsc_continuation', sent);
          break;
        }
        case 'companion_nonce':
          ceremony.open(bytes);
          break;
        case 'encrypted_pairing_request': {
          const device = ceremony.read(bytes);
          if (!device.noiseKey.equals(candidate.noiseKey) || device.advSecret.length !== 32) {
            throw new EmulatorError('the pairing request names another client');
          }
          after = () => {
            candidate.passkey = undefined;
            passkey.link.link(device).then(passkey.resolve, passkey.reject);
          };
          break;
        }
        default:
          return false;
      }
    } catch (error) {
      passkey.reject(error);
      connection.send(node('iq', { ...attrs, type: 'error' }, [node('error', { code: '400' })]));
      return true;
    }
    connection.send(node('iq', { ...attrs, type: 'result' }, result));
    after();
    return true;
  }

  #notify({ connection }: Candidate, type: string, content: BinaryNode): void {
    const attrs = { from: SERVER, type, id: connection.mintId(), t: seconds(Date.now()) };
    connection.send(node('notification', attrs, [content]));
  }

  #byRef(ref: string): Candidate {
    for (const candidate of this.#candidates.values()) {
      if (candidate.refs.includes(ref) || candidate.code?.ref === ref) return candidate;
    }
    throw new EmulatorError('no connected client shows that ref');
  }

  #signed(candidate: Candidate, reply: BinaryNode): void {
    const sign = getBinaryNodeChild(reply, 'pair-device-sign');
    const identity = sign && getBinaryNodeChild(sign, 'device-identity');
    const bytes = identity && bytesOf(identity);
    const problem = bytes
      ? checkDeviceIdentity(bytes, candidate.signing?.accountKey, candidate.registration.eIdent)
      : 'the reply has no signed device identity';
    candidate.signing?.done(problem === undefined ? undefined : new EmulatorError(problem));
  }

  #register(candidate: Candidate, { phone, keyIndex }: PairRequest, number: number): void {
    const { registration, noiseKey, connection } = candidate;
    const { eRegid, eIdent, eSkeyId, eSkeyVal, eSkeySig } = registration;
    if (!eIdent || !eSkeyVal || !eSkeySig) throw new EmulatorError('the registration lacks its keys');
    const signedPreKey = {
      keyId: uintOf(eSkeyId ?? undefined) ?? 0,
      publicKey: eSkeyVal,
      signature: eSkeySig,
    };
    const registrationId = uintOf(eRegid ?? undefined) ?? 0;
    const keys = { registrationId, identityKey: eIdent, signedPreKey };
    const device = new Device(phone, number, keyIndex, noiseKey.toString('hex'), keys);
    this.#context.directory.addDevice(device);
    this.#context.events.emit('paired', { device: device.pn });
    connection.sendAndClose(streamError(515), 'restart after pairing');
  }

  #codeHello(candidate: Candidate, iq: BinaryNode, reg: BinaryNode): void {
    const { connection } = candidate;
    const phone = this.#context.directory.phone(reg.attrs.jid ?? '');
    const wrapped = childBytes(reg, 'link_code_pairing_wrapped_companion_ephemeral_pub');
    const noiseKey = childBytes(reg, 'companion_server_auth_key_pub');
    const attrs = { from: SERVER, id: iq.attrs.id };
    if (!phone || !wrapped || !noiseKey) {
      const error = node('error', {
        code: phone ? '400' : '404',
        text: phone ? 'bad-request' : 'item-not-found',
      });
      connection.send(node('iq', { ...attrs, type: 'error' }, [error]));
      return;
    }
    const ref = mintRef();
    candidate.code = { ref, phone };
    connection.send(
      node('iq', { ...attrs, type: 'result' }, [
        node('link_code_companion_reg', { stage: 'companion_hello' }, [
          node('link_code_pairing_ref', {}, Buffer.from(ref)),
        ]),
      ]),
    );
    const platform = childBytes(reg, 'companion_platform_display')?.toString('utf8') ?? '';
    phone.onLinkCodeHello({ ref, wrappedCompanionEphemeral: wrapped, noiseKey, platform });
  }

  #codeFinish(candidate: Candidate, iq: BinaryNode, reg: BinaryNode): void {
    const wrappedKeyBundle = childBytes(reg, 'link_code_pairing_wrapped_key_bundle');
    const companionIdentity = childBytes(reg, 'companion_identity_public');
    const { code, connection } = candidate;
    const isComplete = code && wrappedKeyBundle && companionIdentity;
    const attrs = { from: SERVER, id: iq.attrs.id, type: isComplete ? 'result' : 'error' };
    connection.send(node('iq', attrs, isComplete ? undefined : [node('error', { code: '400' })]));
    if (!isComplete) return;
    void Promise.resolve(
      code.phone.onLinkCodeFinish({ ref: code.ref, wrappedKeyBundle, companionIdentity }),
    ).catch((error: unknown) => connection.drop(`the phone failed to link: ${error}`));
  }
}

/** True when the login payload names a user, as after pairing. */
export function isLogin(payload: proto.ClientPayload): boolean {
  return Boolean(payload.username && Number(payload.username) > 0) && !payload.devicePairingData;
}
