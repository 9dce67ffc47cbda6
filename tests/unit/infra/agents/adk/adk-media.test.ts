import fc from 'fast-check';
import nock from 'nock';
import { describe, expect, it } from 'vitest';
import { type IncomingMessage, MAX_MEDIA_BYTES } from '../../../../../router/src/core/models.ts';
import {
  type AdkEvent,
  fileDataOf,
  fileLinksIn,
  filesIn,
  inlineDataOf,
  isReadable,
  parseEvents,
  runBody,
} from '../../../../../router/src/infra/agents/adk/adk-wire.ts';
import { HttpAgentClient } from '../../../../../router/src/infra/http-agent-client.ts';
import { mockNetwork } from '../../../../support/mocked-network.ts';

const url = 'http://adk.example:8000';
const media = { kind: 'document' as const, mimeType: 'application/pdf', fileName: 'a.pdf', sizeBytes: 3 };
const message: IncomingMessage = {
  id: 'M1',
  from: '34600111222@s.whatsapp.net',
  channelId: '34600111222',
  text: 'read this',
  timestamp: new Date(1_700_000_000_000),
};
const bytes = Buffer.from([1, 2, 3]);
const png = { mimeType: 'image/png', data: bytes.toString('base64') };

/** Events as received. */
function events(...parts: Array<[changes: Partial<AdkEvent>, ...parts: object[]]>): AdkEvent[] {
  const sent = parts.map(([changes, ...made]) => ({
    author: 'front_desk',
    content: { role: 'model', parts: made },
    ...changes,
  }));
  const parsed = parseEvents(JSON.stringify(sent));
  if (!parsed.ok) throw new Error(parsed.problem.sentence);
  return parsed.value;
}

describe('files to an ADK agent', () => {
  const run = { appName: 'a', userId: 'u', sessionId: 's', waMessageId: 'M1' };
  const file = inlineDataOf(media, bytes);

  it('are sent as inlineData beside the text, or alone without text', () => {
    const inlineData = { mimeType: 'application/pdf', data: 'AQID', displayName: 'a.pdf' };
    expect(runBody('camel', { ...run, text: 'read this', file })).toMatchObject({
      newMessage: { role: 'user', parts: [{ text: 'read this' }, { inlineData }] },
    });
    expect(runBody('snake', { ...run, text: '', file })).toMatchObject({
      new_message: { parts: [{ inlineData }] },
    });
  });

  it('are sent as fileData by their address', () => {
    const fileUri = 'https://wa2ai.example/api/media/x';
    expect(fileDataOf(media, fileUri)).toEqual({
      fileData: { mimeType: 'application/pdf', fileUri, displayName: 'a.pdf' },
    });
  });

  it.each([
    ['image/jpeg', 10, true],
    ['audio/ogg; codecs=opus', 10, true],
    ['application/pdf', MAX_MEDIA_BYTES + 1, false],
    ['application/zip', 10, false],
    ['image/jpegx', 10, false],
  ])('are readable or not: %s of %i bytes', (mimeType, sizeBytes, isRead) => {
    expect(isReadable({ kind: 'document', mimeType, sizeBytes })).toBe(isRead);
  });

  it('do not change the body of a text message', () => {
    expect(runBody('snake', { ...run, text: '' })).toMatchObject({ new_message: { parts: [{ text: '' }] } });
  });
});

describe('files in a run', () => {
  it('are taken from complete model events, in order, without thoughts', () => {
    const run = events(
      [{ author: 'user', content: { role: 'user', parts: [{ inlineData: png }] } }],
      [{}, { inlineData: png }, { text: 'and' }, { inlineData: { ...png, mimeType: 'audio/mpeg' } }],
      [{ partial: true }, { inlineData: png }],
      [{}, { inlineData: png, thought: true }],
      [{}, { inlineData: { mimeType: 'text/csv', data: 'YQ==', displayName: '../sums.csv' } }],
    );
    expect(filesIn(run)).toEqual([
      { kind: 'image', mimeType: 'image/png', bytes },
      { kind: 'audio', mimeType: 'audio/mpeg', bytes },
      { kind: 'document', mimeType: 'text/csv', fileName: '.._sums.csv', bytes: Buffer.from('a') },
    ]);
  });

  it('are links where the answer names them by an address of the web', () => {
    const named = { fileUri: 'https://a.org/x.pdf', mimeType: 'application/pdf', displayName: 'x.pdf' };
    const run = events(
      [{}, { text: 'here' }, { fileData: named }, { fileData: { fileUri: 'gs://bucket/y' } }],
      [{ partial: true }, { fileData: named }],
      [{}, { fileData: named, thought: true }, { fileData: { fileUri: 'http://a.org/z' } }],
    );
    expect(fileLinksIn(run)).toEqual([
      { url: 'https://a.org/x.pdf', mimeType: 'application/pdf', fileName: 'x.pdf' },
      { url: 'http://a.org/z' },
    ]);
  });

  it('are absent when parts contain no valid file', () => {
    const broken = [
      null,
      7,
      {},
      { mimeType: 'x', data: 'YQ==' },
      { mimeType: 'a/b', data: '' },
      { mimeType: 'a/b', data: '!' },
    ];
    expect(filesIn(events([{}, ...broken.map((inlineData) => ({ inlineData }))]))).toEqual([]);
  });

  it('are at most ten', () => {
    expect(filesIn(events([{}, ...Array.from({ length: 40 }, () => ({ inlineData: png }))]))).toHaveLength(
      10,
    );
  });

  it('are a failure when one is too large', () => {
    const data = Buffer.alloc(MAX_MEDIA_BYTES + 1).toString('base64');
    expect(() => filesIn(events([{}, { inlineData: { ...png, data } }]))).toThrow(
      'at most 10000000 can be sent',
    );
  });

  it('are decoded byte for byte from both alphabets of base64', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.boolean(), (content, isUrlSafe) => {
        const buffer = Buffer.from(content);
        const data = buffer.toString(isUrlSafe ? 'base64url' : 'base64');
        expect(filesIn(events([{}, { inlineData: { ...png, data } }]))[0]?.bytes).toEqual(buffer);
      }),
    );
  });
});

describe('an ADK route', () => {
  mockNetwork();
  const answer = [
    { author: 'model', content: { role: 'model', parts: [{ text: 'a chart' }, { inlineData: png }] } },
  ];
  const loadMedia = async () => bytes;

  it('without the setting sends no file to a server of the contract, and returns those of the answer', async () => {
    nock(url)
      .post('/run', (body) => JSON.stringify(body.new_message) === '{"parts":[{"text":"read this"}]}')
      .reply(200, answer);
    const client = new HttpAgentClient({ adk: { appName: 'a', dialect: 'snake' } });
    const forbidden = async () => Promise.reject(new Error('nothing is to be fetched'));
    const said = await client.sendMessage(url, { ...message, media }, { loadMedia: forbidden });
    expect(said).toMatchObject({ response: 'a chart', files: [{ kind: 'image', bytes }] });
    expect(await client.takesFile({ ...message, media }, url)).toBe(false);
  });

  it('with media off neither fetches nor sends files, and returns text only', async () => {
    nock(url)
      .post('/run', (body) => JSON.stringify(body.newMessage.parts) === '[{"text":"read this"}]')
      .reply(200, answer);
    const client = new HttpAgentClient({ adk: { appName: 'a', dialect: 'camel', media: false } });
    const forbidden = async () => Promise.reject(new Error('nothing is to be fetched'));
    const said = await client.sendMessage(url, { ...message, media }, { loadMedia: forbidden });
    expect(said).not.toHaveProperty('files');
    expect(await client.takesFile({ ...message, media }, url)).toBe(false);
  });

  it('without the setting sends what models read to an ADK server, which its session shows', async () => {
    const session = '/apps/a/users/34600111222/sessions/34600111222_34600111222';
    nock(url).get(session).twice().reply(404, { detail: 'Session not found' });
    nock(url).post(session).reply(200, { id: 's', appName: 'a' });
    nock(url).get(session).reply(200, { id: 's', appName: 'a', events: [] });
    nock(url)
      .post('/run', (body) => body.newMessage.parts[0].inlineData.data === 'AQID')
      .reply(200, answer);
    const client = new HttpAgentClient({ adk: { appName: 'a' } });
    const alone = { ...message, text: '', media };
    expect(await client.takesFile(alone, url)).toBe(true);
    await client.sendMessage(url, alone, { loadMedia });
    expect(nock.isDone()).toBe(true);
    const unreadable = { ...media, mimeType: 'application/zip' };
    expect(await client.takesFile({ ...alone, media: unreadable }, url)).toBe(false);
    expect(await client.takesFile({ ...alone, isTranscript: true }, url)).toBe(false);
  });

  it.each([
    ['with an address', async () => 'https://wa2ai.example/api/media/x', 'fileData'],
    ['with the bytes where wa2ai has no address', async () => undefined, 'inlineData'],
  ])("with media 'url' sends the file %s", async (_, mediaUrl, part) => {
    nock(url)
      .post('/run', (body) => part in body.newMessage.parts[1])
      .reply(200, answer);
    const client = new HttpAgentClient({ adk: { appName: 'a', dialect: 'camel', media: 'url' } });
    await client.sendMessage(url, { ...message, media }, { loadMedia, mediaUrl });
    expect(nock.isDone()).toBe(true);
  });
});
