import { normalizeMessageContent } from '@whiskeysockets/baileys';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type StandInRequest, StandInServer } from '../doubles/stand-in-server.ts';
import { opusFile, PNG, WEBP } from '../support/sounds.ts';
import { TestBed } from '../support/test-bed.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

const PDF = Buffer.from('%PDF-1.7 a bill');

const bed = TestBed.shared();
/** A web server with files. */
let web: StandInServer;
/** An ADK server; its answer to a run. */
let adk: StandInServer;
let parts: object[] = [];
const sessions = new Set<string>();

beforeAll(async () => {
  web = await StandInServer.start(({ path }) => ({
    headers: { 'content-type': 'application/pdf' },
    ...(path === '/bill.pdf' ? { body: PDF } : { status: 404 }),
  }));
  adk = await StandInServer.start(({ method, path }) => {
    if (path === '/run') return { body: [{ author: 'helper', content: { role: 'model', parts } }] };
    if (method === 'POST') sessions.add(path);
    if (!sessions.has(path)) return { status: 404, body: { detail: 'Session not found' } };
    return { body: { id: path.split('/').at(-1), appName: 'helper', events: [] } };
  });
});

afterAll(async () => {
  await Promise.all([web.close(), adk.close()]);
});

const hosts = () => [new URL(web.url).host];

async function nextFile(person: Person) {
  const { message, text } = await person.nextReply();
  const { documentMessage } = normalizeMessageContent(message) ?? {};
  return { text, documentMessage, bytes: documentMessage && bed.emulator.mediaHost.open(message) };
}

describe('an ADK server', () => {
  const runs = (): StandInRequest[] => adk.requests.filter(({ path }) => path === '/run');

  it('gets a picture without a setting, also as the first message, and answers with a file by its URL', async () => {
    const ana = bed.person();
    const config = { adk: { appName: 'helper' }, reply: { fileHosts: hosts() } };
    await bed.service.addRoute(ana.phone, adk.url, { config });
    const fileData = { fileUri: `${web.url}/bill.pdf`, mimeType: 'application/pdf', displayName: 'bill.pdf' };
    parts = [{ text: 'Your bill' }, { fileData }];
    const id = await ana.say(bed.emulator.mediaHost.message('image', PNG), { to: bed.phone });
    const { documentMessage, bytes } = await nextFile(ana);
    expect(documentMessage).toMatchObject({ fileName: 'bill.pdf', caption: 'Your bill' });
    expect(bytes).toEqual(PDF);
    const { newMessage } = JSON.parse(runs().at(-1)?.body ?? '');
    expect(newMessage.parts).toEqual([
      { inlineData: { mimeType: expect.stringMatching(/^image\//), data: PNG.toString('base64') } },
    ]);
    const { trace } = await bed.untilTurnEnded(id);
    expect(trace).toContainEqual(expect.objectContaining({ step: 'files', outcome: 'loaded' }));
  });
});

describe('a webhook', () => {
  const webhook = async (media: unknown, reply: object) => {
    const person = bed.person();
    const agent = await StandInServer.start(() => ({ body: { text: 'Your bill', media } }));
    await bed.service.addRoute(person.phone, agent.url, { config: { adk: undefined, webhook: {}, reply } });
    const id = await person.say('my bill?', { to: bed.phone });
    return { person, agent, id };
  };

  it('answers with a file by its URL, where its host is allowed', async () => {
    const media = { url: `${web.url}/bill.pdf`, fileName: 'bill.pdf' };
    const { person, agent } = await webhook(media, { fileHosts: hosts() });
    const { documentMessage, bytes } = await nextFile(person);
    expect(documentMessage).toMatchObject({ fileName: 'bill.pdf', caption: 'Your bill' });
    expect(bytes).toEqual(PDF);
    await agent.close();
  });

  it.each([
    ['its host is not allowed', 'https://example.com/bill.pdf', () => [], []],
    ['it cannot be loaded', undefined, hosts, ['failed']],
  ])('answers with the address where %s', async (_, url, fileHosts, outcomes) => {
    const before = web.requests.length;
    const media = { url: url ?? `${web.url}/none.pdf` };
    const { person, agent, id } = await webhook(media, { fileHosts: fileHosts() });
    const { text } = await nextFile(person);
    // The address of the test's own server is private, and never leaves.
    expect(text).toBe(url ? `Your bill\n${url}` : 'Your bill\n[removed]');
    expect(web.requests.length - before).toBe(outcomes.length);
    const { trace } = await bed.untilTurnEnded(id);
    const steps = (trace as Array<{ step?: string; outcome: string }>).filter(({ step }) => step === 'files');
    expect(steps.map(({ outcome }) => outcome)).toEqual(outcomes);
    await agent.close();
  });
});

describe('An agent', () => {
  it('answers with a voice message, a sticker, a location, contacts and a poll, in order', async () => {
    const person = bed.person();
    const special = (json: object) => ({
      mimeType: 'application/vnd.wa2ai+json',
      data: Buffer.from(JSON.stringify(json)).toString('base64'),
    });
    const media = [
      { mimeType: 'audio/ogg', data: opusFile().toString('base64') },
      { mimeType: 'image/webp', data: WEBP.toString('base64') },
      special({ location: { latitude: 52.52, longitude: 13.4, name: 'Café Uno' } }),
      special({ contacts: [{ name: 'Bo', phone: '+34 600 000 001' }] }),
      special({ poll: { question: 'When?', options: ['Monday', 'Tuesday'] } }),
    ];
    const agent = await StandInServer.start(() => ({ body: { media } }));
    await bed.service.addRoute(person.phone, agent.url, { config: { adk: undefined, webhook: {} } });
    await person.say('surprise me', { to: bed.phone });
    const contents = [];
    for (const _ of media) {
      contents.push(normalizeMessageContent((await person.nextReply()).message) ?? {});
    }
    expect(contents).toMatchObject([
      { audioMessage: { ptt: true, seconds: 2 } },
      { stickerMessage: { mimetype: 'image/webp' } },
      { locationMessage: { name: 'Café Uno', degreesLatitude: 52.52 } },
      { contactMessage: { displayName: 'Bo' } },
      {},
    ]);
    expect(JSON.stringify(contents[4])).toContain('When?');
    await agent.close();
  });
});
