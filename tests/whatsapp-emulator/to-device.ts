import { type BinaryNode, normalizeMessageContent, type proto } from '@whiskeysockets/baileys';
import type { Actor, MessageToDevice, ReceiptToDevice } from './actors.ts';
import type { Device } from './device.ts';
import type { Directory } from './directory.ts';
import { EmulatorError } from './emulator-error.ts';
import { deviceJid, isGroupJid, isLidJid, node, seconds } from './nodes.ts';

/** Builds the stanza of an actor's message, with the addresses from which Baileys reads PN and LID. */
export function messageStanza(message: MessageToDevice, device: Device, directory: Directory): BinaryNode {
  const attrs = {
    id: message.id,
    type: message.type ?? stanzaType(message.message),
    t: seconds(message.sentAtMs ?? Date.now()),
    notify: message.from.pushName,
    ...messageAddress(message, device, directory),
    ...message.attrs,
  };
  return node('message', attrs, [...message.encs, ...(message.children ?? [])]);
}

/** Builds the stanza of an actor's receipt; ids after the first are in a list. */
export function receiptStanza(receipt: ReceiptToDevice, directory: Directory): BinaryNode {
  const { from, chat, fromDevice = 0, ids } = receipt;
  const address =
    chat.kind === 'group'
      ? { from: chat.group, participant: groupAddress(from, chat.group, directory, fromDevice) }
      : { from: deviceJid(chat.addressing === 'lid' ? from.lid : from.pn, fromDevice) };
  const attrs = { id: ids[0], type: receipt.type, t: seconds(Date.now()), ...address };
  const items = ids.slice(1).map((id) => node('item', { id }));
  const list = items.length > 0 ? [node('list', {}, items)] : [];
  const content = [...list, ...(receipt.children ?? [])];
  return node('receipt', attrs, content.length > 0 ? content : undefined);
}

/** The address of an actor in a group. */
export function groupAddress(
  member: Pick<Actor, 'pn' | 'lid'>,
  group: string,
  directory: Directory,
  device = 0,
): string {
  const known = directory.group(group);
  if (!known) throw new EmulatorError(`there is no group ${group}`);
  return deviceJid(known.addressing === 'lid' ? member.lid : member.pn, device);
}

function messageAddress(
  message: MessageToDevice,
  device: Device,
  directory: Directory,
): Record<string, string | undefined> {
  const { from, chat } = message;
  if (chat.kind === 'group') return groupMessageAddress(from, chat.group, directory);
  if (chat.kind === 'direct') {
    const { pn, lid, hidden, username } = from;
    return chat.addressing === 'lid'
      ? {
          from: lid,
          sender_pn: hidden === 'pn' ? undefined : pn,
          sender_username: username,
          addressing_mode: 'lid',
        }
      : { from: pn, sender_lid: hidden === 'lid' ? undefined : lid };
  }
  if (isGroupJid(chat.recipient)) return groupMessageAddress(device.phone, chat.recipient, directory);
  if (message.attrs?.category === 'peer') return { from: device.phone.pn };
  const recipient = directory.actor(chat.recipient);
  return isLidJid(chat.recipient)
    ? {
        from: device.phone.lid,
        recipient: chat.recipient,
        peer_recipient_pn: recipient?.pn,
        addressing_mode: 'lid',
      }
    : { from: device.phone.pn, recipient: chat.recipient, peer_recipient_lid: recipient?.lid };
}

function groupMessageAddress(
  member: Pick<Actor, 'pn' | 'lid' | 'hidden' | 'username'>,
  group: string,
  directory: Directory,
): Record<string, string | undefined> {
  const participant = groupAddress(member, group, directory);
  const { pn, lid, hidden, username } = member;
  return isLidJid(participant)
    ? {
        from: group,
        participant,
        participant_pn: hidden === 'pn' ? undefined : pn,
        participant_username: username,
        addressing_mode: 'lid',
      }
    : {
        from: group,
        participant,
        participant_lid: hidden === 'lid' ? undefined : lid,
        addressing_mode: 'pn',
      };
}

function stanzaType(message: proto.IMessage): string {
  const content = normalizeMessageContent(message) ?? {};
  if (content.reactionMessage) return 'reaction';
  if (content.pollCreationMessage || content.pollCreationMessageV3 || content.pollUpdateMessage)
    return 'poll';
  const isMedia = Boolean(
    content.imageMessage ||
      content.videoMessage ||
      content.audioMessage ||
      content.documentMessage ||
      content.stickerMessage ||
      content.contactMessage ||
      content.locationMessage,
  );
  return isMedia ? 'media' : 'text';
}
