import { describe, expect, it } from 'vitest';
import {
  bodyOfForm,
  fileOf,
  messageToSend,
  readMessageToSend,
} from '../../../router/src/features/chats/message-to-send.ts';
import { UploadedFile } from '../../../router/src/infra/operations/form.ts';

const channelId = '5493777239922';
const image = { url: 'https://example.com/a.png' };
const poll = { question: 'When?', options: ['Mon', 'Tue'] };
const received = {
  direction: 'incoming',
  channelId,
  waMessageId: 'W1',
  from: '1@s.whatsapp.net',
  text: 'hi',
};
const sent = { direction: 'outgoing', channelId, waMessageId: 'W2', text: 'yes' };

const log = {
  message: async (id: string) => (id === '1' ? received : undefined),
  sentMessage: async (id: string) => (id === '2' ? sent : undefined),
} as unknown as Parameters<typeof readMessageToSend>[1];
const read = (body: object, isOfChat = true) =>
  readMessageToSend(messageToSend.parse({ channelId, ...body }), log, () => isOfChat, 5);

describe('messageToSend', () => {
  it.each<[object, string]>([
    [
      {},
      'must contain exactly one of text, image, video, audio, voice, document, sticker, location, contacts, poll, react, delete',
    ],
    [{ text: 'x', poll }, 'must contain exactly one of'],
    [{ image, video: image }, 'must contain exactly one of'],
    [{ image, poll, text: 'x' }, 'must contain exactly one of'],
    [{ image: { url: 'file:///etc/passwd' } }, 'must be an http:// or https:// URL'],
    [{ image: 'https://example.com/a.png' }, 'must be an object with a url, or a file of a form'],
    [{ image: { url: 'https://x.org/a', bytes: [1] } }, 'Unrecognized key'],
    [{ voice: image, text: 'x' }, 'cannot be shown with voice'],
    [{ image, text: 'x'.repeat(1_025) }, 'must have at most 1024 characters as a caption'],
    [{ image, text: 'x', edit: '2' }, 'belongs to a text'],
    [{ poll, quote: '1' }, 'belongs to a text or a file'],
    [{ text: 'hi @34600000001', mentions: ['+34 600 000 002'] }, 'needs @34600000002 in the text'],
    [{ image, mentions: ['+34 600 000 002'] }, 'needs @34600000002 in the text'],
    [{ text: '@34600000002', mentions: ['34600000002'], edit: '2' }, 'cannot be changed by an edit'],
    [{ text: ' ' }, 'must not be blank'],
    [{ poll: { ...poll, options: ['a'] } }, '>=2 items'],
    [{ poll: { ...poll, options: ['a', 'a'] } }, 'must differ from each other'],
    [{ poll: { ...poll, selectable: 3 } }, 'must not be above the number of options'],
    [{ delete: '2', edit: '2' }, 'belongs to a text'],
    [{ text: 'x', edit: '2', quote: '1' }, 'cannot be changed by an edit'],
    [{ location: { latitude: 91, longitude: 0 } }, '<=90'],
  ])('refuses %j', (body, sentence) => {
    const parsed = messageToSend.safeParse({ channelId, ...body });
    expect(parsed.error?.issues.map(({ message }) => message).join()).toContain(sentence);
  });
});

describe('readMessageToSend', () => {
  it.each<[object, object]>([
    [{ text: 'x' }, { text: 'x' }],
    [
      { text: 'x', quote: '1' },
      { text: 'x', quote: { waMessageId: 'W1', from: received.from, text: 'hi' } },
    ],
    [
      { text: 'x', edit: '2' },
      { text: 'x', special: { kind: 'edit', of: 'W2', atMs: 5 } },
    ],
    [{ image }, { text: '' }],
    [{ image, text: 'look' }, { text: 'look' }],
    [
      { text: 'hi @34600000002 and @77', mentions: ['+34 600 000 002', '77@lid'] },
      { text: 'hi @34600000002 and @77', mentions: ['34600000002@s.whatsapp.net', '77@lid'] },
    ],
    [
      { voice: image, quote: '1' },
      { text: '', quote: { waMessageId: 'W1', from: received.from, text: 'hi' } },
    ],
    [{ delete: '2' }, { text: '', special: { kind: 'deletion', of: 'W2' } }],
    [
      { react: { to: '1', emoji: '👍' } },
      { text: '👍', special: { kind: 'reaction', emoji: '👍', of: 'W1', from: received.from, atMs: 5 } },
    ],
    [
      { react: { to: '2', emoji: '' } },
      { text: '', special: { kind: 'reaction', emoji: '', of: 'W2', atMs: 5 } },
    ],
  ])('reads %j', async (body, message) => {
    expect(await read(body)).toEqual(message);
  });

  it('makes a new secret for each poll', async () => {
    const [first, second] = [await read({ poll }), await read({ poll })];
    expect(first.special).toMatchObject({
      kind: 'poll',
      selectable: 1,
      secret: expect.stringMatching(/^.{44}$/),
    });
    expect(first.special).not.toEqual(second.special);
  });

  it.each([{ text: 'x', quote: '3' }, { text: 'x', quote: '2' }, { text: 'x', edit: '1' }, { delete: '1' }])(
    'refuses a reference that %j does not allow',
    async (body) => {
      await expect(read(body)).rejects.toMatchObject({ status: 404 });
    },
  );

  it('refuses messages of another chat', async () => {
    await expect(read({ text: 'x', quote: '1' }, false)).rejects.toMatchObject({ status: 404 });
  });
});

describe('fileOf', () => {
  it('is the file of a body with its kind', () => {
    const body = messageToSend.parse({ channelId, document: { ...image, fileName: 'b.png' }, text: 'x' });
    expect(fileOf(body)).toEqual({ kind: 'document', wanted: { ...image, fileName: 'b.png' } });
    expect(fileOf(messageToSend.parse({ channelId, text: 'x' }))).toBeUndefined();
  });
});

describe('bodyOfForm', () => {
  it('is the body that the parts stand for', () => {
    const file = new UploadedFile(Buffer.from('x'), 'image/png', 'a.png');
    const parts = Object.entries({ channelId, text: '@1 @2', byHand: 'true', image: file }).map(
      ([name, value]) => ({
        name,
        value,
      }),
    );
    const people = ['34600000001', '34600000002'].map((value) => ({ name: 'mentions', value }));
    const body = bodyOfForm([...parts, ...people]);
    expect(body).toEqual({
      channelId,
      text: '@1 @2',
      byHand: true,
      image: file,
      mentions: people.map(({ value }) => value),
    });
    expect(fileOf(messageToSend.parse({ channelId, image: file }))).toEqual({ kind: 'image', wanted: file });
  });
});
