import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StandInServer } from '../doubles/stand-in-server.ts';
import { TestBed } from '../support/test-bed.ts';

const PUBLIC_URL = 'https://wa2ai.test/behind';

let bed: TestBed;

beforeAll(async () => {
  bed = await TestBed.startPaired({ env: { WA2AI_PUBLIC_URL: `${PUBLIC_URL}/` } });
});

afterAll(async () => {
  await bed.close();
});

/** The link as a proxy at the public address passes it on. */
const load = (url: string) => fetch(url.replace(PUBLIC_URL, bed.service.url));

describe('A link to a file in the message to a webhook', () => {
  it('leads to the bytes, after the answer and on another node too, and is never logged', async () => {
    const bodies: Array<{ url: string | null }> = [];
    const server = await StandInServer.start(({ body }) => {
      bodies.push(JSON.parse(body));
      return { body: { output: 'seen' } };
    });
    const ana = bed.person();
    const webhook = { body: { url: '{{mediaUrl}}', text: '{{text}}' } };
    await bed.service.addRoute(ana.phone, server.url, { config: { adk: undefined, webhook } });
    const bytes = randomBytes(3_000);
    const { mediaHost } = bed.emulator;
    const downloads = mediaHost.downloads.length;
    await ana.say(mediaHost.message('document', bytes, { mimeType: 'text/csv', fileName: 'a.csv' }), {
      to: bed.phone,
    });
    expect((await ana.nextReply()).text).toBe('seen');
    expect(mediaHost.downloads).toHaveLength(downloads);

    const url = bodies[0]?.url ?? '';
    expect(url).toMatch(/^https:\/\/wa2ai\.test\/behind\/api\/media\/[\w-]+$/);
    const response = await load(url);
    expect(response.headers.get('content-type')).toBe('text/csv');
    expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes);
    expect((await load(`${url.slice(0, -6)}AAAAAA`)).status).toBe(404);
    expect(bed.service.output).not.toContain(url.split('/').at(-1));

    await bed.service.end();
    await bed.restartService({ WA2AI_NODE_ID: 'another' });
    expect(Buffer.from(await (await load(url)).arrayBuffer())).toEqual(bytes);
    await server.close();
  });

  it('is absent from a text', async () => {
    const bodies: unknown[] = [];
    const server = await StandInServer.start(({ body }) => {
      bodies.push(JSON.parse(body));
      return { body: { output: 'seen' } };
    });
    const bo = bed.person();
    await bed.service.addRoute(bo.phone, server.url, { config: { adk: undefined, webhook: {} } });
    await bo.say('hello', { to: bed.phone });
    expect((await bo.nextReply()).text).toBe('seen');
    expect(bodies).toMatchObject([{ media: null }]);
    await server.close();
  });
});
