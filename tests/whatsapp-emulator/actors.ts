import type { BinaryNode, proto } from '@whiskeysockets/baileys';
import type { AppState } from './app-state.ts';
import type { Passkey, PhonePasskeyCeremony, RequestedDevice } from './passkey.ts';

/**
 * The types by which the emulated server, virtual people, phones and groups use each other.
 *
 * Terms: an *account* is a phone number with a LID and one phone; a *linked device* is a client (wa2ai, a plain
 * Baileys socket) that was paired to an account; an *actor* has Signal keys and is not a linked device: a
 * virtual person, or the account's own phone. The server routes stanzas and never sees plaintext; actors encrypt,
 * decrypt and report to the server what they read, for the transcript.
 *
 * Addresses are full JIDs. A *user JID* has no device (`34600000001@s.whatsapp.net`, `100000001@lid`), a
 * *device JID* has one (`34600000001:7@s.whatsapp.net`).
 */

/** The address of a user that a chat uses. */
export type Addressing = 'pn' | 'lid';

/** A Signal pre-key bundle; public keys are 32 bytes without the version byte 0x05, signatures 64. */
export interface KeyBundle {
  readonly registrationId: number;
  readonly identityKey: Uint8Array;
  readonly signedPreKey: {
    readonly keyId: number;
    readonly publicKey: Uint8Array;
    readonly signature: Uint8Array;
  };
  readonly preKey?: { readonly keyId: number; readonly publicKey: Uint8Array };
}

/** A client paired to an account, as actors see it. */
export interface LinkedDevice {
  /** Device JID in phone number form. */
  readonly pn: string;
  /** The same device in LID form. */
  readonly lid: string;
  readonly isOnline: boolean;
}

/** One `<enc>` of a stanza from a client; `count` is present when it answers a retry receipt. */
export interface Ciphertext {
  readonly type: 'pkmsg' | 'msg' | 'skmsg';
  readonly bytes: Uint8Array;
  readonly count?: number;
}

/** The part of a linked device's message for one device of one actor. */
export interface MessageToActor {
  readonly id: string;
  /** The sending device in both forms: key Signal sessions by `pn` alone, both forms are one session. */
  readonly from: { readonly pn: string; readonly lid: string };
  /** The actor's device it is encrypted for. */
  readonly device: number;
  /** User JID as the client addressed it, or the group's JID; for a copy to the own phone the recipient's JID. */
  readonly chat: string;
  readonly isGroup: boolean;
  /** The address form of the sender: of the sender key in a group, or of the direct chat. */
  readonly addressing: Addressing;
  /** In the order to decrypt: a direct one first (in groups it carries the sender key), then the `skmsg`. */
  readonly ciphertexts: readonly Ciphertext[];
  readonly type: string;
  readonly stanza: BinaryNode;
}

/** The outcome of a message at an actor; `message` is what the person sees, `deviceSentMessage` unwrapped. */
export type Reading =
  | { readonly kind: 'read'; readonly message: proto.IMessage }
  /** Nothing visible: a sender key alone, or a protocol message (included, because edits change what is visible). */
  | { readonly kind: 'silent'; readonly message?: proto.IMessage }
  /** A resend: already shown under this id. Reported so that the server counts one bubble. */
  | { readonly kind: 'repeat'; readonly message: proto.IMessage }
  | { readonly kind: 'unreadable'; readonly reason: string };

/** A receipt that a linked device sent to an actor. */
export interface ReceiptToActor {
  readonly from: { readonly pn: string; readonly lid: string };
  readonly ids: readonly string[];
  /** `undefined` is a delivery receipt; others as on the wire: `read`, `inactive`, `retry`, `sender`, ... */
  readonly type: string | undefined;
  readonly chat: string;
  readonly isGroup: boolean;
  /** From a retry receipt: the number of the request, and the client's new key bundle when it sent one. */
  readonly retry?: { readonly count: number; readonly bundle?: KeyBundle };
  readonly stanza: BinaryNode;
}

/** A participant with Signal keys that is not a linked device. */
export interface Actor {
  /** User JID, phone number form. */
  readonly pn: string;
  /** User JID, LID form. */
  readonly lid: string;
  readonly pushName: string;
  /**
   * The address that WhatsApp does not give to clients: the LID before a person's migration, the number of a person with a
   * user name. Absent: stanzas name both.
   */
  readonly hidden?: Addressing;
  /** Without `@`. */
  readonly username?: string;
  /** Device numbers to encrypt for; 0 is the phone. Empty: no device encrypts for this actor. */
  readonly devices: readonly number[];
  /** A bundle for a new session; called once per `encrypt` query, so a one-time key may be spent. */
  keyBundle(device: number): KeyBundle;
  /**
   * A linked device sent this. Called in the order of arrival, one call at a time per actor; the server acks the
   * client first and does not wait. The actor sends receipts (delivery, read, retry).
   */
  onMessage(message: MessageToActor): Reading | Promise<Reading>;
  /** A linked device sent a receipt, retry receipts included: encrypt again with `count` and send the same id. */
  onReceipt(receipt: ReceiptToActor): void | Promise<void>;
  /** Presence (`composing`, `paused`, `available` ...) that a linked device showed to this actor or its group. */
  onPresence?(presence: { readonly from: string; readonly chat: string; readonly state: string }): void;
}

/** The phone of an account: it links devices. */
export interface PhoneActor extends Actor {
  /** What the phone tells its linked devices about its chats. */
  readonly appState: AppState;
  /** A client requested code pairing with this phone's number; kept until the owner types the code. */
  onLinkCodeHello(hello: LinkCodeHello): void;
  /** The client responded to `submitLinkCode`; the phone creates the device identity and calls `pairDevice`. */
  onLinkCodeFinish(finish: LinkCodeFinish): void | Promise<void>;
  /** A device of this account was unlinked: by its own logout, or by `unlinkDevice`. */
  onUnlinked?(devicePn: string): void;
}

/** Step `companion_hello` of code pairing. */
export interface LinkCodeHello {
  readonly ref: string;
  /** salt (32) + IV (16) + AES-CTR of the companion's ephemeral public key (32). */
  readonly wrappedCompanionEphemeral: Uint8Array;
  /** The companion's Noise static public key. */
  readonly noiseKey: Uint8Array;
  readonly platform: string;
}

/** Step `companion_finish` of code pairing. */
export interface LinkCodeFinish {
  readonly ref: string;
  /** salt (32) + IV (12) + AES-GCM of companion identity, primary identity and random (3 x 32, tag 16). */
  readonly wrappedKeyBundle: Uint8Array;
  readonly companionIdentity: Uint8Array;
}

/** Linking with the owner's passkey. */
export interface PasskeyLink {
  readonly key: Passkey;
  readonly ceremony: PhonePasskeyCeremony;
  /** Links the device that the encrypted pairing request names. */
  link(device: RequestedDevice): Promise<string>;
}

/** The data from a phone that links a device, by QR or by code. */
export interface PairRequest {
  /** The `ref` of the QR text, or of `LinkCodeHello`. */
  readonly ref: string;
  readonly phone: PhoneActor;
  /** Names the ADV secret that the phone uses, without revealing it. */
  readonly secretId: string;
  /** The phone's part of linking with a passkey; absent: none is asked for. */
  readonly passkey?: PasskeyLink;
  /** An encoded ADVSignedDeviceIdentityHMAC. */
  readonly deviceIdentity: Uint8Array;
  readonly keyIndex: number;
}

/** A group; every member is an actor or an account, named by both forms. */
export interface GroupInfo {
  /** `120363...@g.us` */
  readonly jid: string;
  readonly subject: string;
  readonly addressing: Addressing;
  readonly createdAtMs: number;
  readonly members: readonly (Pick<Actor, 'pn' | 'lid' | 'hidden' | 'username'> & {
    readonly isAdmin?: boolean;
  })[];
}

/** The chat of an actor's message. */
export type ActorChat =
  /** 1:1 with the account that owns the device. */
  | { readonly kind: 'direct'; readonly addressing: Addressing }
  | { readonly kind: 'group'; readonly group: string }
  /** Written by the owner on the account's phone, to this user or group JID; seen by linked devices as their own. */
  | { readonly kind: 'own'; readonly recipient: string };

/** A message of an actor for one linked device. The server builds the stanza and its addressing attributes. */
export interface MessageToDevice {
  readonly id: string;
  readonly from: Actor;
  /** The linked device, phone number form. */
  readonly to: string;
  readonly chat: ActorChat;
  /** `<enc v="2" type="pkmsg|msg|skmsg">` nodes, `count` included when this answers a retry receipt. */
  readonly encs: readonly BinaryNode[];
  /** Plaintext for the transcript; the stanza's `type` is taken from it unless `type` is given. */
  readonly message: proto.IMessage;
  readonly type?: string;
  /** Time of writing, ms since 1970; default now. */
  readonly sentAtMs?: number;
  /** More attributes (`edit`, `category`) and children (`meta`) of the stanza. */
  readonly attrs?: Readonly<Record<string, string>>;
  readonly children?: readonly BinaryNode[];
}

/** A receipt of an actor for one linked device. */
export interface ReceiptToDevice {
  readonly from: Actor;
  /** The actor's device number. */
  readonly fromDevice?: number;
  /** The linked device, phone number form. */
  readonly to: string;
  readonly ids: readonly string[];
  /** Absent for delivery. */
  readonly type?: 'read' | 'retry' | 'played' | 'inactive';
  readonly chat:
    | { readonly kind: 'direct'; readonly addressing: Addressing }
    | { readonly kind: 'group'; readonly group: string };
  /** Children: `<retry>`, `<registration>`, `<keys>` of a retry receipt. */
  readonly children?: readonly BinaryNode[];
}

/** The server, as actors use it. `WhatsAppEmulator` implements it. */
export interface ServerSide {
  /** Registers an actor. A second one with the same number or LID is an error. */
  addActor(actor: Actor): void;
  /** Registers an account for pairing. Includes `addActor`. */
  addPhone(phone: PhoneActor): void;
  /** Adds a group, or replaces the one of the same JID. */
  addGroup(group: GroupInfo): void;
  group(jid: string): GroupInfo | undefined;

  /** The linked devices of an account, by its user JID in either form; none is an empty list. */
  linkedDevices(user: string): readonly LinkedDevice[];
  /**
   * A bundle for a new session with a linked device; spends one of its uploaded one-time keys.
   * @throws when the device is unknown or has uploaded no keys yet
   */
  takeKeyBundle(devicePn: string): KeyBundle;

  /**
   * Sends a message to a linked device, now or when it connects, and again after each reconnect until the client
   * acknowledged it. A repeated id replaces the waiting message (response to a retry receipt).
   */
  sendMessage(message: MessageToDevice): void;
  /** Sends a receipt; kept and repeated like a message. */
  sendReceipt(receipt: ReceiptToDevice): void;
  /** Shows `composing` or `paused` of an actor; lost when the device is offline. */
  sendChatState(from: Actor, to: string, chat: ReceiptToDevice['chat'], state: 'composing' | 'paused'): void;

  /**
   * Links the client that shows `ref`: pair-success, its signed reply, 515. The client logs in afterwards.
   * @returns the new device JID, phone number form, once the client signed
   * @throws when no connected client shows that ref, or it disconnected or took over 20 s
   */
  pairDevice(request: PairRequest): Promise<string>;
  /** Passes the phone's half of code pairing on: salt (32) + IV (16) + AES-CTR (32), and its identity key. */
  submitLinkCode(ref: string, wrappedPrimaryEphemeral: Uint8Array, primaryIdentity: Uint8Array): void;
  /** Tells the linked devices of an account that a collection of its app state has changed; kept and repeated like a message. */
  notifyAppState(user: string, collection: string): void;
  /** Removes a linked device as its phone's owner would: 401 device_removed now, or at its next login. */
  unlinkDevice(devicePn: string): void;
}
