import type { z } from 'zod';
import { bubblesOf, personState, sendRequested, stateOf } from './control-actions.ts';
import { applyFault } from './control-faults.ts';
import { type Call, type Endpoint, parse, sendText } from './control-http.ts';
import { requests } from './control-requests.ts';
import type { WhatsAppEmulator } from './emulator.ts';
import type { Participants } from './participants.ts';
import type { TranscriptFeed } from './transcript-feed.ts';

/** The phone that scans when a request names no number. */
export const DEFAULT_ACCOUNT = '34600000001';

/** The endpoints of the control API, in the order of its help text. */
export function endpointsOf(
  emulator: WhatsAppEmulator,
  participants: Participants,
  feed: TranscriptFeed,
): Endpoint[] {
  const get = (path: string, about: string, handle: Endpoint['handle']): Endpoint => ({
    method: 'GET',
    path,
    about,
    handle,
  });
  const post = <T>(
    path: string,
    about: string,
    schema: z.ZodType<T>,
    handle: (body: T, call: Call) => unknown,
  ): Endpoint => ({
    method: 'POST',
    path,
    about,
    handle: async (call) => {
      const result = await handle(parse(schema, call.body), call);
      feed.nudge();
      return result ?? { ok: true };
    },
  });
  const endpoints: Endpoint[] = [
    get('/', 'this text', () => undefined),
    get('/state', 'accounts with their linked devices, people, groups, faults', () =>
      stateOf(emulator, participants),
    ),
    post('/phone/scan', '{qr, phone?}: the account scans a QR text', requests.scan, async (body) => ({
      device: await participants.phone(body.phone ?? DEFAULT_ACCOUNT).scan(body.qr),
    })),
    post(
      '/phone/enter-code',
      '{code, phone?}: the account types an eight-letter code',
      requests.code,
      async (body) => ({
        device: await participants.phone(body.phone ?? DEFAULT_ACCOUNT).enterCode(body.code),
      }),
    ),
    post('/phone/unlink', '{phone?}: the account unlinks its devices', requests.account, (body) =>
      participants.phone(body.phone ?? DEFAULT_ACCOUNT).unlink(),
    ),
    post(
      '/people',
      '{phone, name?, lid?, via?: pn|lid, receipts?: delivery|read|none|hold, receiptDelayMs?}',
      requests.person,
      ({ receipts, receiptDelayMs, ...who }) =>
        personState(
          participants.addPerson({ ...who, habit: withoutUndefined({ receipts, receiptDelayMs }) }),
        ),
    ),
    post(
      '/groups',
      '{subject, members: [numbers of people and accounts], addressing?: lid|pn, jid?}',
      requests.group,
      (body) => participants.addGroup(body),
    ),
    post(
      '/people/:phone/say',
      '{to: account or group, text, id?, via?, quoted?: {id, author, text?}, timestamp?, kind?: plain|extended|ephemeral|image|view-once|document, isCorrupt?}',
      requests.say,
      async (body, { phone }) => ({
        id: await sendRequested(participants, participants.person(phone), body),
      }),
    ),
    post(
      '/people/:phone/edit',
      '{to, id, text, encrypted?: {author: pn|lid, editor: pn|lid}}: changes a message',
      requests.edit,
      async ({ to, id, text, encrypted }, { phone }) => ({
        id: await participants.person(phone).edit(id, text, { to: participants.recipient(to), encrypted }),
      }),
    ),
    post(
      '/people/:phone/redeliver',
      '{id}: the same stanza once more',
      requests.redeliver,
      ({ id }, { phone }) => participants.person(phone).redeliver(id),
    ),
    post(
      '/people/:phone/habit',
      '{receipts?, receiptDelayMs?}; `delivery` also releases held receipts',
      requests.habit,
      (body, { phone }) => {
        const person = participants.person(phone);
        Object.assign(person.habit, withoutUndefined(body));
        if (person.habit.receipts !== 'hold') person.releaseReceipts();
        return personState(person);
      },
    ),
    post(
      '/people/:phone/lose-sessions',
      '{}: cannot decrypt until the client answers a retry receipt',
      requests.nothing,
      async (_, { phone }) => {
        for (const account of participants.phones) await participants.person(phone).loseSession(account);
      },
    ),
    get('/people/:phone/received', 'the bubbles in front of a person', ({ phone }) =>
      bubblesOf(participants.person(phone)),
    ),
    get('/people/:phone/next-reply', '?timeoutMs=10000: the next bubble not given yet', async (call) => {
      const { timeoutMs } = parse(requests.replyQuery, call.query);
      const { message: _, ...bubble } = await participants.person(call.phone).nextReply(timeoutMs);
      return bubble;
    }),
    get('/transcript', '?after=SEQ&waitMs=0: everything said; waits when there is nothing new', (call) => {
      const { after, waitMs } = parse(requests.transcriptQuery, call.query);
      return feed.waitAfter(after, waitMs);
    }),
    get('/transcript/stream', '?after=SEQ: the same as server-sent events', (call) =>
      feed.stream(call.response, parse(requests.transcriptQuery, call.query).after),
    ),
    post(
      '/faults',
      '{kind: drop|silence|end-stream|slow|refuse-upgrades|fail-logins|withhold-acks|refuse-messages|refuse-contacts|lock-new-contacts|count-new-chats|duplicate|corrupt|endless-offline|ignore-pings|ignore-look-ups|refuse-versions|current-version|clear, ...}',
      requests.fault,
      (body) => applyFault(emulator, body),
    ),
  ];
  const help = helpText(emulator.url, endpoints);
  return endpoints.map((endpoint) =>
    endpoint.path === '/' ? { ...endpoint, handle: ({ response }) => sendText(response, help) } : endpoint,
  );
}

function helpText(url: string, endpoints: readonly Endpoint[]): string {
  const lines = endpoints.map(
    ({ method, path, about }) => `  ${method.padEnd(4)} ${path}\n         ${about}`,
  );
  return [
    'WhatsApp emulator: virtual people, groups and phones, and a server that misbehaves on request.',
    `Clients connect to ${url} (WA2AI_WHATSAPP_WS_URL).`,
    `Accounts are phone numbers; ${DEFAULT_ACCOUNT} is used when a call names none.`,
    'Bodies are JSON. Errors are {"error": "..."}: 400 a bad body, 404, 409 what cannot be done now.',
    '',
    ...lines,
    '',
  ].join('\n');
}

function withoutUndefined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Partial<T>;
}
