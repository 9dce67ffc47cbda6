import { type BinaryNode, encodeBigEndian, getBinaryNodeChild } from '@whiskeysockets/baileys';
import type { GroupInfo, KeyBundle } from './actors.ts';
import type { Device } from './device.ts';
import type { Directory } from './directory.ts';
import type { Faults } from './faults.ts';
import { newChatsOf, reachOutLockOf } from './limits.ts';
import type { MediaHost } from './media-host.ts';
import { children, deviceOf, isGroupJid, node, SERVER, seconds, userJid } from './nodes.ts';
import { answerUsync } from './usync.ts';

/** The context of a query handler. */
export interface QueryContext {
  readonly device: Device;
  readonly directory: Directory;
  readonly mediaHost: MediaHost;
  readonly faults: Faults;
}

/** The content of a result, an error code with its text, or `undefined` for an unknown query. */
export type Answer = readonly BinaryNode[] | { readonly code: number; readonly text: string } | undefined;

type Handler = (iq: BinaryNode, context: QueryContext) => Answer;

const NOTHING: readonly BinaryNode[] = [];
const NOT_FOUND = { code: 404, text: 'item-not-found' } as const;

/** Wraps a result into the `iq` that the client waits for. */
export function answerTo(iq: BinaryNode, answer: Exclude<Answer, undefined>): BinaryNode {
  const attrs = { id: iq.attrs.id, from: iq.attrs.to ?? SERVER };
  if ('code' in answer) {
    return node('iq', { ...attrs, type: 'error' }, [
      node('error', { code: `${answer.code}`, text: answer.text }),
    ]);
  }
  return node('iq', { ...attrs, type: 'result' }, answer.length > 0 ? [...answer] : undefined);
}

/** Responds to the queries that need only the directory. */
export function answerQuery(iq: BinaryNode, context: QueryContext): Answer {
  return HANDLERS[iq.attrs.xmlns ?? '']?.(iq, context);
}

const HANDLERS: Readonly<Record<string, Handler>> = {
  passive: () => NOTHING,
  encrypt: answerEncrypt,
  usync: (iq, { directory }) => answerUsync(iq, directory),
  abt: () => [node('props', { protocol: '1', ab_key: 'emulator', hash: 'emulator', refresh: '86400' })],
  privacy: (iq) => (iq.attrs.type === 'get' ? [privacySettings()] : NOTHING),
  blocklist: () => [node('list', {}, [])],
  'urn:xmpp:whatsapp:dirty': () => NOTHING,
  'w:g2': answerGroups,
  'w:profile:picture': (iq) =>
    iq.attrs.type === 'get' ? NOT_FOUND : [node('picture', { id: seconds(Date.now()) })],
  'w:biz': () => [node('business_profile', { v: '244' }, [])],
  'w:biz:catalog': () => NOT_FOUND,
  newsletter: () => NOT_FOUND,
  'w:m': (_, { mediaHost }) => [mediaHost.connectionNode()],
  'w:sync:app:state': answerAppState,
  'w:mex': answerMex,
  'w:stats': () => NOTHING,
  'w:profile': () => NOTHING,
  status: () => NOTHING,
  disappearing_mode: () => NOTHING,
  tos: () => NOTHING,
  'urn:xmpp:whatsapp:push': () => NOTHING,
  'urn:xmpp:whatsapp:account': () => NOTHING,
  bot: () => [node('bot', { v: '2' }, [])],
};

function answerEncrypt(iq: BinaryNode, { device, directory }: QueryContext): Answer {
  if (iq.attrs.type === 'set') {
    device.storeKeys(iq);
    return NOTHING;
  }
  const [asked] = children(iq);
  if (asked?.tag === 'count') return [node('count', { value: `${device.oneTimeKeyCount}` })];
  if (asked?.tag === 'digest') return [node('digest', {}, bundleNodes({ ...device.identity }))];
  if (asked?.tag !== 'key') return undefined;
  const users = children(asked).map(({ attrs }) => {
    const bundle = bundleFor(attrs.jid ?? '', directory);
    return node('user', { jid: attrs.jid }, bundle ? bundleNodes(bundle) : [node('error', notFoundAttrs())]);
  });
  return [node('list', {}, users)];
}

function bundleFor(jid: string, directory: Directory): KeyBundle | undefined {
  const linked = directory.device(jid);
  if (linked) return linked.takeKeyBundle();
  const actor = directory.actor(jid);
  return actor?.devices.includes(deviceOf(jid)) ? actor.keyBundle(deviceOf(jid)) : undefined;
}

function bundleNodes(bundle: KeyBundle): BinaryNode[] {
  const { signedPreKey, preKey } = bundle;
  const key = preKey && [
    node('key', {}, [
      node('id', {}, encodeBigEndian(preKey.keyId, 3)),
      node('value', {}, Buffer.from(preKey.publicKey)),
    ]),
  ];
  return [
    node('registration', {}, encodeBigEndian(bundle.registrationId)),
    node('type', {}, Buffer.from([5])),
    node('identity', {}, Buffer.from(bundle.identityKey)),
    node('skey', {}, [
      node('id', {}, encodeBigEndian(signedPreKey.keyId, 3)),
      node('value', {}, Buffer.from(signedPreKey.publicKey)),
      node('signature', {}, Buffer.from(signedPreKey.signature)),
    ]),
    ...(key ?? []),
  ];
}

function answerGroups(iq: BinaryNode, { device, directory }: QueryContext): Answer {
  const to = iq.attrs.to ?? '';
  if (iq.attrs.type !== 'get') return undefined;
  if (!isGroupJid(to) || userJid(to) === '@g.us') {
    const isParticipating = getBinaryNodeChild(iq, 'participating') !== undefined;
    const groups = isParticipating ? directory.groupsOf(device.phone.pn) : [];
    return [node(isParticipating ? 'groups' : 'communities', {}, groups.map(groupNode))];
  }
  const group = directory.group(to);
  if (!group) return NOT_FOUND;
  const isMember = group.members.some(({ pn }) => pn === device.phone.pn);
  return isMember ? [groupNode(group)] : { code: 403, text: 'forbidden' };
}

function groupNode(group: GroupInfo): BinaryNode {
  const isLid = group.addressing === 'lid';
  const creator = group.members.find(({ isAdmin }) => isAdmin) ?? group.members[0];
  const created = seconds(group.createdAtMs);
  const members = group.members.map(({ pn, lid, isAdmin, hidden, username }) =>
    node('participant', {
      jid: isLid ? lid : pn,
      ...(isLid ? { phone_number: hidden === 'pn' ? undefined : pn, username } : { lid }),
      type: isAdmin ? 'admin' : undefined,
    }),
  );
  return node(
    'group',
    {
      id: group.jid.split('@')[0],
      subject: group.subject,
      s_t: created,
      s_o: isLid ? creator?.lid : creator?.pn,
      creation: created,
      creator: isLid ? creator?.lid : creator?.pn,
      creator_pn: isLid ? creator?.pn : undefined,
      addressing_mode: group.addressing,
      size: `${group.members.length}`,
    },
    members,
  );
}

/** The patches of the account's phone that the device does not have. */
function answerAppState(iq: BinaryNode, { device }: QueryContext): Answer {
  const asked = children(getBinaryNodeChild(iq, 'sync'));
  return [
    node(
      'sync',
      {},
      asked.map((collection) => device.phone.appState.answer(collection)),
    ),
  ];
}

function answerMex(iq: BinaryNode, { faults }: QueryContext): Answer {
  const query = getBinaryNodeChild(iq, 'query')?.attrs.query_id ?? '';
  const body = MEX_ANSWERS[query]?.(faults) ?? {
    errors: [{ message: 'the emulator does not know this query', extensions: { error_code: 501 } }],
  };
  return [node('result', {}, Buffer.from(JSON.stringify(body)))];
}

/** By query id, as Baileys names them in QueryIds. */
const MEX_ANSWERS: Readonly<Record<string, (faults: Faults) => object>> = {
  '23983697327930364': (faults) => ({
    data: { xwa2_fetch_account_reachout_timelock: reachOutLockOf(faults) },
  }),
  '24503548349331633': (faults) => ({ data: { xwa2_message_capping_info: newChatsOf(faults) } }),
};

function privacySettings(): BinaryNode {
  const categories = [
    'readreceipts',
    'last',
    'online',
    'profile',
    'status',
    'groupadd',
    'calladd',
    'messages',
  ];
  return node(
    'privacy',
    {},
    categories.map((name) => node('category', { name, value: 'all' })),
  );
}

function notFoundAttrs(): Record<string, string> {
  return { code: `${NOT_FOUND.code}`, text: NOT_FOUND.text };
}
