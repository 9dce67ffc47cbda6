import { proto } from '@whiskeysockets/baileys';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  NotConnectedError,
  SendRefusedError,
  SendUncertainError,
} from '../../../../../router/src/core/errors.ts';
import {
  SendLane,
  type WriteMessage,
} from '../../../../../router/src/providers/baileys/outbound/send-lane.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

const ANA = '34600000002@s.whatsapp.net';
const BOB = '34600000003@s.whatsapp.net';

let lane: SendLane;
let clock: FakeClock;
/** How often the connection was to be broken off. */
let hung: number;
let written: string[];
/** Sends under way, each ended by the test: Baileys takes a time of its own for each. */
let underWay: Map<string, { end: () => void; fail: (error: unknown) => void }>;

const write: WriteMessage = (asked) =>
  new Promise<void>((resolve, reject) => {
    const text = 'content' in asked && 'text' in asked.content ? asked.content.text : 'a file';
    underWay.set(text, {
      end: () => {
        written.push(text);
        resolve();
      },
      fail: reject,
    });
  });

beforeEach(() => {
  clock = new FakeClock();
  hung = 0;
  lane = new SendLane({
    clock,
    onHung: () => {
      hung += 1;
    },
  });
  written = [];
  underWay = new Map();
});

const send = (text: string, to = ANA) =>
  lane.send({ accountId: 'main', to, text, waMessageId: `id of ${text}` }, undefined, () => write);

const boom = (statusCode: number, data?: unknown) =>
  Object.assign(new Error('told'), { output: { statusCode }, data });

describe('sends', () => {
  it('of one chat go one after the other, so that none overtakes, and other chats do not wait', async () => {
    const sends = [send('one'), send('two'), send('to Bob', BOB)];
    await settle();
    expect([...underWay.keys()].toSorted()).toEqual(['one', 'to Bob']);
    underWay.get('to Bob')?.end();
    underWay.get('one')?.end();
    await settle();
    underWay.get('two')?.end();
    await Promise.all(sends);
    expect(written).toEqual(['to Bob', 'one', 'two']);
  });

  it('end with the connection, where Baileys would wait for another minute', async () => {
    const sent = expect(send('one')).rejects.toThrow(SendUncertainError);
    await settle();
    lane.connectionClosed();
    await sent;
  });

  it('that never end are given up, and their connection with them, before they hold their chat for good', async () => {
    const sent = expect(send('one')).rejects.toThrow(SendUncertainError);
    const next = send('two');
    await settle();
    await clock.advanceMs(170_000);
    expect(hung).toBe(0);
    await clock.advanceMs(10_000);
    await sent;
    expect(hung).toBe(1);
    underWay.get('two')?.end();
    await next;
    expect(clock.sleeping).toBe(0);
  });

  it.each([
    ['found the socket closed', boom(428), NotConnectedError],
    ['failed on the way', new Error('write EPIPE'), SendUncertainError],
    ['were refused for this chat', boom(500, 403), SendRefusedError],
  ])('that %s say so', async (_, error, kind) => {
    const sent = expect(send('one')).rejects.toThrow(kind);
    await settle();
    underWay.get('one')?.fail(error);
    await sent;
  });

  it('without a connection did surely not happen', async () => {
    const sent = lane.send({ accountId: 'main', to: ANA, text: 'x', waMessageId: 'A' }, undefined, () => {
      throw new NotConnectedError('main');
    });
    await expect(sent).rejects.toThrow(NotConnectedError);
  });
});

describe('a phone that could not read a message', () => {
  const known = { accountId: 'main', to: ANA, text: 'once more', waMessageId: 'A' };
  const find = async (id: string) => (id === 'A' ? { message: known } : undefined);

  it('gets the content that was sent', async () => {
    expect(await lane.contentOf('A', find)).toEqual({ extendedTextMessage: { text: 'once more' } });
  });

  it('gets the very file that was uploaded, and nothing when none was', async () => {
    const media = { kind: 'image' as const, mimeType: 'image/png', sizeBytes: 3 };
    const imageMessage = { mimetype: 'image/png', directPath: '/v/file.enc', mediaKey: Buffer.alloc(32, 7) };
    const content = proto.Message.encode({ imageMessage }).finish();
    const sent = { message: { ...known, media }, content };
    expect(await lane.contentOf('A', async () => sent)).toMatchObject({
      imageMessage: { directPath: '/v/file.enc', mediaKey: Buffer.alloc(32, 7) },
    });
    expect(await lane.contentOf('A', async () => ({ message: sent.message }))).toBeUndefined();
  });

  it.each(['B', undefined, null])(
    'gets nothing, rather than something empty, for an unknown id: %s',
    async (id) => {
      expect(await lane.contentOf(id, find)).toBeUndefined();
    },
  );
});
