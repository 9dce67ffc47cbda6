import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { normalizeMessageContent } from '@whiskeysockets/baileys';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MP3, MP4, opusFile, PNG, WEBP } from '../support/sounds.ts';
import { TestBed } from '../support/test-bed.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

const ENV = { WA2AI_EGRESS: 'any' };

let bed: TestBed;
let web: Server;
let webUrl: string;
let folder: string;
let env: Record<string, string>;
/** Requests to the web server, in order. */
const requested: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wa2ai-send-files-'));
  await writeFile(join(folder, 'voice.ogg'), opusFile());
  // A stand-in for ffmpeg: it writes a voice note whatever it is given.
  const ffmpeg = join(folder, 'ffmpeg');
  const voice = JSON.stringify(join(folder, 'voice.ogg'));
  await writeFile(
    ffmpeg,
    `#!${process.execPath}\nprocess.stdout.write(require('node:fs').readFileSync(${voice}));\n`,
  );
  await chmod(ffmpeg, 0o755);
  env = { ...ENV, WA2AI_FFMPEG: ffmpeg };
  web = createServer((request, response) => {
    requested.push(request.url ?? '');
    response.writeHead(200, { 'content-type': 'text/plain' }).end(PNG);
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  webUrl = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  bed = await TestBed.startPaired({ env });
});

afterAll(async () => {
  await bed.close();
  web.closeAllConnections();
  await new Promise((resolve) => web.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

async function post(body: FormData | object, headers: Record<string, string> = {}) {
  const isForm = body instanceof FormData;
  const response = await fetch(`${bed.service.url}/api/messages`, {
    method: 'POST',
    headers: { ...(!isForm && { 'content-type': 'application/json' }), ...headers },
    body: isForm ? body : JSON.stringify(body),
  });
  const answer = (await response.json()) as { code?: string; error?: string; data: { id: string } };
  return { status: response.status, body: answer };
}

function form(fields: Record<string, string | Uint8Array>, fileName = 'file'): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string') data.append(name, value);
    else data.append(name, new Blob([Uint8Array.from(value)]), fileName);
  }
  return data;
}

/** The next bubble of a person, and the bytes of its file. */
async function nextFile(person: Person) {
  const bubble = await person.nextReply();
  const content = normalizeMessageContent(bubble.message) ?? {};
  return { bubble, content, bytes: bed.emulator.mediaHost.open(bubble.message) };
}

describe('A picture in the Markdown of an answer', () => {
  it('is shown as a picture with the text as its caption, where its host is allowed', async () => {
    const ida = bed.person();
    const picture = `![menu](${webUrl}/menu.png)`;
    await ida.say(`here ${picture}`, { to: bed.phone });
    // The filter of what never leaves removes the address, which is private.
    expect((await ida.nextReply()).text).toBe('Echo: here menu ([removed])');
    expect(requested).toEqual([]);
    const jo = bed.person();
    const config = { reply: { imageHosts: [new URL(webUrl).host] } };
    await bed.service.addRoute(jo.phone, bed.agent.url, { config });
    await jo.say(`here ${picture}`, { to: bed.phone });
    const { content, bytes } = await nextFile(jo);
    expect(content.imageMessage).toMatchObject({ caption: 'Echo: here', mimetype: 'image/png' });
    expect(bytes).toEqual(PNG);
  });
});

describe('A file sent through the API', () => {
  it('arrives by upload and by address, with its bytes, type and caption', async () => {
    const ana = bed.person();
    expect((await post(form({ channelId: ana.phone, text: 'uploaded', image: PNG }))).status).toBe(202);
    const uploaded = await nextFile(ana);
    expect(uploaded.content.imageMessage).toMatchObject({ mimetype: 'image/png', caption: 'uploaded' });
    expect(uploaded.bytes).toEqual(PNG);

    const image = { url: `${webUrl}/menu.png` };
    expect((await post({ channelId: ana.phone, text: 'by address', image })).status).toBe(202);
    const named = await nextFile(ana);
    expect(named.content.imageMessage).toMatchObject({ mimetype: 'image/png', caption: 'by address' });
    expect(named.bytes).toEqual(PNG);
  });

  it('arrives as the kind that was asked for', async () => {
    const bo = bed.person();
    await post(form({ to: bo.phone, video: MP4 }));
    const video = await nextFile(bo);
    expect(video.content.videoMessage?.mimetype).toBe('video/mp4');
    await post(form({ to: bo.phone, audio: MP3 }));
    const audio = await nextFile(bo);
    expect(audio.content.audioMessage?.mimetype).toBe('audio/mpeg');
    expect(audio.content.audioMessage?.ptt || false).toBe(false);
    await post(form({ to: bo.phone, document: Buffer.from('a,b') }, 'sums.csv'));
    const document = await nextFile(bo);
    expect(document.content.documentMessage?.fileName).toBe('sums.csv');
    await post(form({ to: bo.phone, sticker: WEBP }));
    const sticker = await nextFile(bo);
    expect(sticker.content.stickerMessage?.mimetype).toBe('image/webp');
    const bytes = [video, audio, document, sticker].map((file) => file.bytes);
    expect(bytes).toEqual([MP4, MP3, Buffer.from('a,b'), WEBP]);
  });

  it('is a voice note with length and waveform, also of a sound that ffmpeg converts', async () => {
    const cleo = bed.person();
    for (const voice of [opusFile(), MP3]) {
      expect((await post(form({ to: cleo.phone, voice }))).status).toBe(202);
      const { content, bytes } = await nextFile(cleo);
      expect(content.audioMessage).toMatchObject({
        ptt: true,
        seconds: 2,
        mimetype: 'audio/ogg; codecs=opus',
      });
      expect(content.audioMessage?.waveform).toHaveLength(64);
      expect(bytes).toEqual(opusFile());
    }
  });

  it('quotes a message and mentions people', async () => {
    const [dora, emil] = [bed.person(), bed.person()];
    const question = await dora.say('the menu?', { to: bed.phone });
    await dora.nextReply();
    const { id: quote } = (await bed.message(question)) as { id: string };
    const text = `ask @${emil.phone}`;
    await post({ channelId: dora.phone, text, image: { url: webUrl }, quote, mentions: [emil.phone] });
    const { content } = await nextFile(dora);
    expect(content.imageMessage).toMatchObject({
      caption: text,
      contextInfo: { stanzaId: question, mentionedJid: [emil.pn] },
    });
    await post({ channelId: dora.phone, text, mentions: [emil.phone] });
    const { message } = await dora.nextReply();
    expect(message.extendedTextMessage?.contextInfo?.mentionedJid).toEqual([emil.pn]);
  });

  it('refuses what it cannot send, with a sentence', async () => {
    const fay = bed.person();
    const { status, body } = await post(form({ to: fay.phone, video: PNG }));
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'FILE_REFUSED' });
    expect(body.error).toContain('MP4');
  });

  it('arrives once although wa2ai is killed right after it was accepted and the address is gone', async () => {
    const gil = bed.person();
    const key = { 'idempotency-key': 'killed' };
    const message = { channelId: gil.phone, text: 'safe', image: { url: `${webUrl}/once.png` } };
    const accepted = await post(message, key);
    expect(accepted.status).toBe(202);
    await bed.service.end('SIGKILL');
    const loads = requested.length;
    await bed.restartService(env);
    const { content, bytes } = await nextFile(gil);
    expect(content.imageMessage?.caption).toBe('safe');
    expect(bytes).toEqual(PNG);
    const again = await post(message, key);
    expect(again.body.data.id).toBe(accepted.body.data.id);
    expect(requested).toHaveLength(loads);
    await post({ channelId: gil.phone, text: 'the end' });
    expect((await gil.nextReply()).text).toBe('the end');
    expect(gil.received).toHaveLength(2);
  });
});
