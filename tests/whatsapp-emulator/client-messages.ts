import { type BinaryNode, getBinaryNodeChild } from '@whiskeysockets/baileys';
import type { Actor, Addressing, Ciphertext, MessageToActor } from './actors.ts';
import type { Device } from './device.ts';
import type { Directory } from './directory.ts';
import { bytesOf, children, deviceJid, deviceOf, isGroupJid, isLidJid, node, userJid } from './nodes.ts';
import { groupAddress } from './to-device.ts';

/** A client's `<message>`, parsed into its parts per device. */
export interface Fanout {
  readonly toActors: readonly { readonly actor: Actor; readonly message: MessageToActor }[];
  /** Stanzas for linked devices: other accounts, or other devices of the same one. */
  readonly toDevices: readonly { readonly device: Device; readonly stanza: BinaryNode }[];
}

interface Envelope {
  /** Device JID as the client wrote it, or a member's user JID in a group. */
  readonly jid: string;
  readonly encs: readonly BinaryNode[];
}

/** Splits a client's message into the parts for each device of each recipient. Unknown recipients get nothing. */
export function fanOut(stanza: BinaryNode, sender: Device, directory: Directory): Fanout {
  const toActors: { actor: Actor; message: MessageToActor }[] = [];
  const toDevices: { device: Device; stanza: BinaryNode }[] = [];
  for (const { jid, encs } of envelopes(stanza, sender, directory)) {
    const device = directory.device(jid);
    const actor = directory.actor(jid);
    if (device && device !== sender) {
      toDevices.push({ device, stanza: forDevice(stanza, encs, sender, device, directory) });
    } else if (actor?.devices.includes(deviceOf(jid))) {
      toActors.push({ actor, message: forActor(stanza, encs, sender, jid, directory) });
    }
  }
  return { toActors, toDevices };
}

/** The chat of a message: a group's JID, else the other person's phone number JID. */
export function chatKey(chat: string, directory: Directory): string {
  return isGroupJid(chat) ? chat : (directory.actor(chat)?.pn ?? userJid(chat));
}

function envelopes(stanza: BinaryNode, sender: Device, directory: Directory): Envelope[] {
  const to = stanza.attrs.to ?? '';
  const direct = children(stanza).filter((child) => child.tag === 'enc');
  const participants = children(getBinaryNodeChild(stanza, 'participants'));
  const own = new Map(participants.map(({ attrs, content }) => [attrs.jid ?? '', encsOf(content)]));
  if (!isGroupJid(to)) {
    return own.size > 0 ? [...own].map(([jid, encs]) => ({ jid, encs })) : [{ jid: to, encs: direct }];
  }
  if (stanza.attrs.participant) return [{ jid: stanza.attrs.participant, encs: direct }];
  const recipients = new Map<string, Envelope>();
  for (const jid of groupDevices(to, sender, directory)) recipients.set(jid, { jid, encs: direct });
  for (const [jid, encs] of own) recipients.set(jid, { jid, encs: [...encs, ...direct] });
  return [...recipients.values()];
}

/** Every device of every member but the sender's, in the group's own addressing. */
function groupDevices(jid: string, sender: Device, directory: Directory): string[] {
  const members = directory.group(jid)?.members ?? [];
  return members.flatMap((member) => {
    const address = groupAddress(member, jid, directory);
    const linked = directory.devicesOf(member.pn).map(({ number }) => number);
    const numbers = new Set([...(directory.actor(member.pn)?.devices ?? []), ...linked]);
    if (member.pn === sender.phone.pn) numbers.delete(sender.number);
    return [...numbers].map((number) => deviceJid(address, number));
  });
}

function forActor(
  stanza: BinaryNode,
  encs: readonly BinaryNode[],
  sender: Device,
  jid: string,
  directory: Directory,
): MessageToActor {
  const to = stanza.attrs.to ?? '';
  const isGroup = isGroupJid(to);
  const addressing: Addressing = isGroup
    ? (directory.group(to)?.addressing ?? 'lid')
    : isLidJid(to)
      ? 'lid'
      : 'pn';
  return {
    id: stanza.attrs.id ?? '',
    from: { pn: sender.pn, lid: sender.lid },
    device: deviceOf(jid),
    chat: isGroup ? to : userJid(stanza.attrs.recipient ?? to),
    isGroup,
    addressing,
    ciphertexts: encs.flatMap(ciphertextOf),
    type: stanza.attrs.type ?? 'text',
    stanza,
  };
}

function forDevice(
  stanza: BinaryNode,
  encs: readonly BinaryNode[],
  sender: Device,
  device: Device,
  directory: Directory,
): BinaryNode {
  const { id, type, to = '', addressing_mode, edit } = stanza.attrs;
  const base = { id, type, edit, t: `${Math.floor(Date.now() / 1000)}`, notify: sender.phone.pushName };
  const identity = children(stanza).filter((child) => child.tag === 'device-identity');
  const isLid = isGroupJid(to) ? directory.group(to)?.addressing === 'lid' : isLidJid(to);
  const from = isLid ? sender.lid : sender.pn;
  const other = isLid ? { pn: userJid(sender.pn) } : { lid: userJid(sender.lid) };
  if (isGroupJid(to)) {
    const alt = isLid ? { participant_pn: other.pn } : { participant_lid: other.lid };
    return node('message', { ...base, from: to, participant: from, ...alt, addressing_mode }, [
      ...encs,
      ...identity,
    ]);
  }
  const isOwn = device.phone === sender.phone;
  const alt = isLid ? { sender_pn: other.pn } : { sender_lid: other.lid };
  const address = isOwn ? { recipient: userJid(stanza.attrs.recipient ?? to) } : alt;
  return node('message', { ...base, from, ...address }, [...encs, ...identity]);
}

function encsOf(content: BinaryNode['content']): BinaryNode[] {
  return Array.isArray(content) ? content.filter(({ tag }) => tag === 'enc') : [];
}

function ciphertextOf(enc: BinaryNode): Ciphertext[] {
  const { type, count } = enc.attrs;
  const bytes = bytesOf(enc);
  if (!bytes || (type !== 'pkmsg' && type !== 'msg' && type !== 'skmsg')) return [];
  return [{ type, bytes, count: count === undefined ? undefined : Number(count) }];
}
