import { type BinaryNode, getBinaryNodeChild } from '@whiskeysockets/baileys';
import type { Actor, KeyBundle, MessageToActor, Reading } from './actors.ts';
import { chatKey, fanOut } from './client-messages.ts';
import { announceOffline, deliver, flushOffline } from './delivery.ts';
import type { Device } from './device.ts';
import type { EmulatorContext } from './emulator-context.ts';
import { streamError } from './faults.ts';
import { limitNotification, NewContacts } from './limits.ts';
import { changeOf } from './message-content.ts';
import { childBytes, children, isGroupJid, node, SERVER, seconds, uintOf, userJid } from './nodes.ts';
import { answerQuery, answerTo } from './queries.ts';
import { lookedUpNumbers } from './usync.ts';

/** Handles stanzas of logged-in clients. Each actor gets its messages one at a time, in order of arrival. */
export class ClientStanzas {
  readonly #context: EmulatorContext;
  readonly newContacts = new NewContacts();
  /** The numbers of which clients asked whether they have an account. */
  readonly lookUps: string[] = [];
  readonly #queues = new Map<Actor, Promise<void>>();

  constructor(context: EmulatorContext) {
    this.#context = context;
  }

  handle(device: Device, stanza: BinaryNode): void {
    switch (stanza.tag) {
      case 'iq':
        this.#onQuery(device, stanza);
        break;
      case 'message':
        this.#onMessage(device, stanza);
        break;
      case 'receipt':
        this.#onReceipt(device, stanza);
        break;
      case 'ack':
        this.#onAck(device, stanza);
        break;
      case 'ib':
        if (getBinaryNodeChild(stanza, 'offline_batch') && !device.isLive)
          flushOffline(this.#context, device);
        break;
      case 'chatstate':
      case 'presence':
        this.#onPresence(device, stanza);
        break;
      case 'call':
        device.connection?.send(node('ack', { class: 'call', id: stanza.attrs.id, from: stanza.attrs.to }));
    }
  }

  /** Tells all clients of a changed limit. */
  limitChanged(about: 'lock' | 'new chats'): void {
    for (const device of this.#context.directory.devices()) {
      deliver(this.#context, device, limitNotification(about, this.#context.faults));
    }
  }

  /** Resolves when the actors have read all messages so far. */
  async settle(): Promise<void> {
    await Promise.all(this.#queues.values());
  }

  #onQuery(device: Device, iq: BinaryNode): void {
    const { faults, directory, events, mediaHost } = this.#context;
    const { xmlns, type } = iq.attrs;
    if (type === 'result' || type === 'error') return;
    if (xmlns === 'w:p') {
      if (!faults.isIgnoringPings) device.connection?.send(answerTo(iq, []));
      return;
    }
    if (xmlns === 'md' && getBinaryNodeChild(iq, 'remove-companion-device')) {
      device.connection?.send(answerTo(iq, []));
      this.unlink(device);
      return;
    }
    const numbers = lookedUpNumbers(iq);
    this.lookUps.push(...numbers);
    if (faults.isIgnoringLookUps && numbers.length > 0) return;
    const answer = answerQuery(iq, { device, directory, mediaHost, faults });
    if (!answer) events.emit('unknown-query', { device: device.pn, stanza: iq });
    device.connection?.send(answerTo(iq, answer ?? { code: 501, text: 'feature-not-implemented' }));
    if (xmlns === 'passive' && getBinaryNodeChild(iq, 'active')) announceOffline(this.#context, device);
    if (xmlns === 'encrypt' && type === 'get') this.#warnOfLowKeys();
  }

  /** Unlinks a device and notifies its client and its phone. */
  unlink(device: Device): void {
    this.#context.directory.removeDevice(device);
    device.connection?.sendAndClose(streamError(401), 'unlinked');
    device.phone.onUnlinked?.(device.pn);
    this.#context.events.emit('unlinked', { device: device.pn });
  }

  /** Notifies clients whose one-time keys run out; called after anything that may have spent one. */
  #warnOfLowKeys(): void {
    for (const device of this.#context.directory.devices()) this.warnOfLowKeys(device);
  }

  warnOfLowKeys(device: Device): void {
    if (!device.isLive || !device.isToBeWarned()) return;
    const count = node('count', { value: `${device.oneTimeKeyCount}` });
    const attrs = { from: SERVER, type: 'encrypt', id: 'low-on-keys', t: seconds(Date.now()) };
    device.connection?.send(node('notification', attrs, [count]));
  }

  #onMessage(device: Device, stanza: BinaryNode): void {
    const { faults, transcript, directory } = this.#context;
    const { id = '', to = '' } = stanza.attrs;
    const ack = { class: 'message', id, from: to, participant: stanza.attrs.participant };
    if (faults.take('refusedMessages')) {
      device.connection?.send(node('ack', { ...ack, error: `${faults.refusalCode}` }));
      return;
    }
    const verdict = this.newContacts.judge(to, faults, directory);
    if (verdict === 'refused') {
      device.connection?.send(node('ack', { ...ack, error: '463' }));
      return;
    }
    if (verdict === 'locked') this.limitChanged('lock');
    const isWithheld = faults.take('withheldAcks');
    if (isWithheld && faults.isWithheldLost) return;
    if (!isWithheld) device.connection?.send(node('ack', { ...ack, t: seconds(Date.now()) }));
    transcript.sent({ id, account: device.pn, chat: to });
    const { toActors, toDevices } = fanOut(stanza, device, directory);
    for (const { device: other, stanza: copy } of toDevices) deliver(this.#context, other, copy);
    for (const { actor, message } of toActors) this.#enqueue(actor, () => this.#read(actor, message, device));
  }

  async #read(actor: Actor, message: MessageToActor, device: Device): Promise<void> {
    const reading: Reading = await actor.onMessage(message);
    const { transcript, events, directory } = this.#context;
    const person = actor.pn;
    if (reading.kind === 'unreadable') {
      events.emit('unreadable', { id: message.id, person, reason: reading.reason });
    }
    const isOwnCopy = actor === device.phone;
    if (isOwnCopy) return;
    const key = message.isGroup ? message.chat : person;
    const chat = message.isGroup ? message.chat : chatKey(message.chat, directory);
    const entry = { id: message.id, account: device.pn, person, chat };
    const isChange = message.stanza.attrs.edit !== undefined;
    const isRepeat = transcript.readBy({ ...entry, ...(isChange && { isChange }) }, key, reading);
    const change = 'message' in reading && reading.message && changeOf(reading.message);
    if (change) events.emit('change', { person, ...change });
    if (reading.kind !== 'read' && reading.kind !== 'repeat') return;
    const text = transcript.bubble(key, message.id)?.text;
    events.emit('reply', {
      ...entry,
      chat: message.chat,
      text,
      message: reading.message,
      isRepeat,
      atMs: Date.now(),
    });
  }

  #onReceipt(device: Device, stanza: BinaryNode): void {
    const { transcript, events, directory } = this.#context;
    const { id = '', to = '', type, participant, recipient } = stanza.attrs;
    const list = children(getBinaryNodeChild(stanza, 'list')).map(({ attrs }) => attrs.id ?? '');
    const ids = [id, ...list];
    device.connection?.send(node('ack', { class: 'receipt', id, from: to, participant, type }));
    if (type === 'server-error') {
      this.#answerMediaRetry(device, stanza);
      return;
    }
    const actor = directory.actor(participant ?? to);
    const chat = isGroupJid(to) ? to : userJid(recipient ?? to);
    for (const each of ids) {
      const settled = device.mailbox.settle(stanza, each);
      if (settled) events.emit('settled', { device: device.pn, stanza: settled, error: undefined });
      transcript.receipt({ id: each, account: device.pn, person: actor?.pn ?? to, chat, type });
      events.emit('receipt', { device: device.pn, id: each, chat, type });
    }
    const other = directory.device(participant ?? to);
    if (other && other !== device) this.#passReceiptOn(device, other, stanza);
    if (!actor || other) return;
    const from = { pn: device.pn, lid: device.lid };
    const retry = retryOf(stanza);
    const receipt = { from, ids, type, chat, isGroup: isGroupJid(to), retry, stanza };
    this.#enqueue(actor, async () => actor.onReceipt(receipt));
  }

  /** A client requests a file from the account's phone that the media host deleted. */
  #answerMediaRetry(device: Device, stanza: BinaryNode): void {
    const { id = '', to } = stanza.attrs;
    const rmr = getBinaryNodeChild(stanza, 'rmr');
    const answer = this.#context.mediaHost.answerRetry(id, getBinaryNodeChild(stanza, 'encrypt'));
    const attrs = { id, from: to, type: 'mediaretry', t: seconds(Date.now()) };
    device.connection?.send(node('notification', attrs, [...(rmr ? [rmr] : []), answer]));
  }

  #passReceiptOn(device: Device, other: Device, stanza: BinaryNode): void {
    const { id, to = '', type, participant = '' } = stanza.attrs;
    const own = (participant || to).includes('@lid') ? device.lid : device.pn;
    const address = isGroupJid(to) ? { from: to, participant: own } : { from: own };
    const attrs = { id, type, t: seconds(Date.now()), ...address };
    deliver(this.#context, other, node('receipt', attrs, stanza.content));
  }

  #onAck(device: Device, ack: BinaryNode): void {
    const settled = device.mailbox.acknowledge(ack);
    if (!settled) return;
    this.#context.events.emit('settled', { device: device.pn, stanza: settled, error: ack.attrs.error });
  }

  #onPresence(device: Device, stanza: BinaryNode): void {
    const { to = '', type } = stanza.attrs;
    const state = type ?? children(stanza)[0]?.tag ?? '';
    if (state === 'subscribe') return;
    const { events, directory } = this.#context;
    events.emit('presence', { device: device.pn, chat: to && userJid(to), state });
    const members = directory.group(to)?.members ?? (to ? [{ pn: to }] : []);
    for (const { pn } of members) {
      directory.actor(pn)?.onPresence?.({ from: device.pn, chat: userJid(to), state });
    }
  }

  #enqueue(actor: Actor, task: () => Promise<void>): void {
    const earlier = this.#queues.get(actor) ?? Promise.resolve();
    const next = earlier.then(task).catch((error: unknown) => {
      const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#context.events.emit('unreadable', { id: '', person: actor.pn, reason });
    });
    this.#queues.set(actor, next);
  }
}

function retryOf(receipt: BinaryNode): { count: number; bundle?: KeyBundle } | undefined {
  const retry = getBinaryNodeChild(receipt, 'retry');
  if (!retry) return undefined;
  return { count: Number(retry.attrs.count ?? 1), bundle: bundleOf(receipt) };
}

function bundleOf(receipt: BinaryNode): KeyBundle | undefined {
  const keys = getBinaryNodeChild(receipt, 'keys');
  const skey = keys && getBinaryNodeChild(keys, 'skey');
  const key = keys && getBinaryNodeChild(keys, 'key');
  const identityKey = childBytes(keys, 'identity');
  const registrationId = uintOf(childBytes(receipt, 'registration'));
  const publicKey = childBytes(skey, 'value');
  const signature = childBytes(skey, 'signature');
  const keyId = uintOf(childBytes(skey, 'id'));
  if (!identityKey || !publicKey || !signature || keyId === undefined || registrationId === undefined) {
    return undefined;
  }
  const oneTime = childBytes(key, 'value');
  const oneTimeId = uintOf(childBytes(key, 'id'));
  const preKey = oneTime && oneTimeId !== undefined ? { keyId: oneTimeId, publicKey: oneTime } : undefined;
  return { registrationId, identityKey, signedPreKey: { keyId, publicKey, signature }, preKey };
}
