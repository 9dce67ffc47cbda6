import { type BinaryNode, getBinaryNodeChild } from '@whiskeysockets/baileys';
import type { Directory } from './directory.ts';
import { bytesOf, children, isLidJid, node, SERVER, seconds, userJid } from './nodes.ts';

type Protocol = (jid: string, asked: BinaryNode, directory: Directory) => BinaryNode | undefined;

/** Responds to a `usync` query: devices, LID, and whether a number is on WhatsApp. */
export function answerUsync(iq: BinaryNode, directory: Directory): BinaryNode[] {
  const usync = getBinaryNodeChild(iq, 'usync');
  const protocols = children(usync && getBinaryNodeChild(usync, 'query')).map(({ tag }) => tag);
  const users = children(usync && getBinaryNodeChild(usync, 'list')).map((user) => {
    const jid = askedJid(user);
    const answers = protocols.map((name) => PROTOCOLS[name]?.(jid, user, directory));
    return node(
      'user',
      { jid },
      answers.filter((answer) => answer !== undefined),
    );
  });
  const { sid, index, last, mode, context } = usync?.attrs ?? {};
  const attrs = { sid, index, last, mode, context };
  return [node('usync', attrs, [node('result', {}, []), node('list', {}, users)])];
}

/** The numbers that a query asks about: whether they have an account. */
export function lookedUpNumbers(stanza: BinaryNode): string[] {
  if (stanza.attrs.xmlns !== 'usync') return [];
  const list = getBinaryNodeChild(getBinaryNodeChild(stanza, 'usync'), 'list');
  return children(list).flatMap((user) => {
    const phone = bytesOf(getBinaryNodeChild(user, 'contact'))?.toString('utf8');
    return phone === undefined ? [] : [phone.replace(/\D/g, '')];
  });
}

/** Users are given by JID, or by a `+number` inside `<contact>`. */
function askedJid(user: BinaryNode): string {
  const phone = bytesOf(getBinaryNodeChild(user, 'contact'))?.toString('utf8');
  return userJid(user.attrs.jid ?? `${phone?.replace(/\D/g, '')}${SERVER}`);
}

const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  devices: deviceList,
  lid: (jid, _, directory) => {
    const actor = isLidJid(jid) ? undefined : directory.actor(jid);
    return actor && actor.hidden !== 'lid' ? node('lid', { val: actor.lid }) : undefined;
  },
  contact: (jid, user, directory) => {
    const phone = bytesOf(getBinaryNodeChild(user, 'contact'));
    return node('contact', { type: directory.actor(jid) ? 'in' : 'out' }, phone);
  },
  username: (jid, _, directory) => {
    const name = directory.actor(jid)?.username;
    return name === undefined ? undefined : node('username', {}, Buffer.from(name));
  },
  status: () => node('status', { t: '0' }),
  disappearing_mode: () => node('disappearing_mode', { duration: '0', t: '0' }),
};

function deviceList(jid: string, _: BinaryNode, directory: Directory): BinaryNode | undefined {
  const actor = directory.actor(jid);
  if (!actor) return undefined;
  const own = actor.devices.map((number) =>
    node('device', { id: `${number}`, 'key-index': number === 0 ? undefined : `${number}` }),
  );
  const linked = directory
    .devicesOf(jid)
    .map((device) => node('device', { id: `${device.number}`, 'key-index': `${device.keyIndex}` }));
  return node('devices', {}, [
    node('device-list', { hash: '2:emulator' }, [...own, ...linked]),
    node('key-index-list', { ts: seconds(Date.now()) }),
  ]);
}
