import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import sql from 'sql-template-tag';
import { encodeAbiParameters, keccak256 } from 'viem';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AbiStandIn } from '../fixtures/abi-agent-server.d.ts';
import { startAbiServer } from '../fixtures/abi-agent-server.js';
import { specificationFunctions } from '../fixtures/abi-echo-types.js';
import { startAbiMockAgent } from '../fixtures/abi-mock-agent.js';
import { countRows } from '../support/database.ts';
import { TestBed } from '../support/test-bed.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import type { Person } from '../whatsapp-emulator/person.ts';
import type { ReceivedMessage } from '../whatsapp-emulator/person-model.ts';

const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), randomBytes(5_000)]);
const GONE = 'Your file is no longer available. Please send it again.';
const DAMAGED = 'Your file arrived damaged. Please send it again.';
const TOO_LARGE = 'Your file is too large. Please send one of at most 10 MB.';
const LATER = 'I could not load your file just now. Please send it again in a while.';

let bed: TestBed;
let analyst: AbiStandIn;
/** Answers every request with bytes. */
let artist: AbiStandIn;

beforeAll(async () => {
  analyst = await startAbiMockAgent();
  artist = await startAbiServer({
    methods: ['draw'],
    answer: () =>
      Buffer.from(encodeAbiParameters([{ type: 'bytes' }], [`0x${png.toString('hex')}`]).slice(2), 'hex'),
  });
  bed = await TestBed.startPaired({
    env: { WA2AI_AGENT_TRY_FOR: '0', WA2AI_MEDIA_TIMEOUT: '6s' },
  });
});

afterAll(async () => {
  await bed.close();
  await Promise.all([analyst.close(), artist.close()]);
});

async function abiRoute(channelId: string, agent: AbiStandIn, abi: Record<string, unknown>) {
  const { status, body } = await bed.service.api('POST', '/api/routes', {
    channelId,
    agentEndpoint: agent.url,
    environment: 'lab',
    config: { abi },
  });
  expect(status, JSON.stringify(body)).toBe(201);
}

/** The result of `analyze` for these bytes. */
function analysis(bytes: Buffer): string {
  return `hash: ${keccak256(bytes)}\nsize: ${bytes.length}\nvalid: ${bytes.length > 0}`;
}

async function endOf(waMessageId: string) {
  let row: Record<string, unknown> | undefined;
  const state = async () => {
    row = await bed.message(waMessageId);
    return row?.state;
  };
  await expect.poll(state, { timeout: 60_000 }).not.toBeOneOf([undefined, 'received']);
  return row as Record<string, unknown>;
}

/** The file in a bubble, decrypted as on the person's phone. */
function fileIn({ message }: ReceivedMessage): Buffer {
  return bed.emulator.mediaHost.open(message);
}

const drawing = { functions: ['function draw(string what) returns (bytes)'] };

describe('A file that a person sends', () => {
  it('is the argument of the command in its caption, in a 1:1 chat and in a group', async () => {
    const [ann, bo] = [bed.person(), bed.person()];
    const group = createGroup(bed.emulator, { subject: 'Files', members: [ann, bo, bed.phone] });
    const abi = { functions: specificationFunctions };
    await abiRoute(ann.phone, analyst, abi);
    await abiRoute(group.jid, analyst, abi);
    const { mediaHost } = bed.emulator;
    const picture = mediaHost.message('image', png, { caption: '/analyze' });
    const id = await ann.say(picture, { to: bed.phone });
    expect((await ann.nextReply()).text).toBe(analysis(png));
    await bo.say(mediaHost.message('document', png, { caption: '/analyze', fileName: 'a.bin' }), {
      to: group,
    });
    expect(await ann.nextReply()).toMatchObject({ text: analysis(png), chat: group.jid });

    const row = await endOf(id);
    expect(row).toMatchObject({
      kind: 'text',
      text: '/analyze',
      media: { kind: 'image', mimeType: 'image/jpeg', sizeBytes: png.length },
    });
    expect((row.trace as unknown[]).at(-1)).toMatchObject({
      abi: {
        arguments: { data: `<image/jpeg, ${png.length} bytes>` },
        calldata: expect.stringMatching(/^0x8171a6ef… \(\d+ bytes\)$/),
      },
    });
    const key = Buffer.from(picture.imageMessage?.mediaKey ?? []);
    for (const output of [JSON.stringify(row), bed.service.output]) {
      for (const form of ['base64', 'hex'] as const) expect(output).not.toContain(key.toString(form));
    }
  });

  it('needs no caption when the only function takes a file: voice message, picture, sticker', async () => {
    const person = bed.person();
    await abiRoute(person.phone, analyst, { functions: specificationFunctions, function: 'analyze' });
    for (const [kind, options] of [
      ['audio', { isVoice: true }],
      ['image', {}],
      ['sticker', {}],
      ['video', {}],
    ] as const) {
      const bytes = randomBytes(1_000);
      await person.say(bed.emulator.mediaHost.message(kind, bytes, options), { to: bed.phone });
      expect((await person.nextReply()).text).toBe(analysis(bytes));
    }
  });

  it('is passed where the template says, with its type', async () => {
    const person = bed.person();
    await abiRoute(person.phone, analyst, {
      functions: [
        'function greet(string name) returns (string)',
        'function analyze(bytes data) returns (bytes32 hash, uint256 size, bool valid)',
      ],
      function: 'analyze',
      args: { data: '{{media}}' },
      output: '{{size}} bytes',
    });
    await person.say('hello', { to: bed.phone });
    expect((await person.nextReply()).text).toBe(
      'Please send a picture, a voice message or another file with your message.',
    );
    await person.say(bed.emulator.mediaHost.message('document', png), { to: bed.phone });
    expect((await person.nextReply()).text).toBe(`${png.length} bytes`);
  });

  it('is fetched from the configured host, whatever host the message names', async () => {
    const person = bed.person();
    await abiRoute(person.phone, analyst, { functions: specificationFunctions });
    const message = bed.emulator.mediaHost.message('image', png, {
      caption: '/analyze',
      claimedHost: 'router.internal:8443',
    });
    await person.say(message, { to: bed.phone });
    expect((await person.nextReply()).text).toBe(analysis(png));
  });

  it('on another host is refused at once, and the chat continues', async () => {
    const person = bed.person();
    await abiRoute(person.phone, analyst, { functions: specificationFunctions });
    const message = bed.emulator.mediaHost.message('image', png, { caption: '/analyze' });
    const before = bed.emulator.stanzas().length;
    const downloads = bed.emulator.mediaHost.downloads.length;
    Object.assign(message.imageMessage ?? {}, { url: 'http://169.254.169.254/admin', directPath: undefined });
    await person.say(message, { to: bed.phone });
    await person.say('/add 2 40', { to: bed.phone });
    expect((await person.nextReply()).text).toBe(GONE);
    expect((await person.nextReply()).text).toBe('42');
    // Neither WhatsApp's servers nor the phone, which may take fifteen seconds, were asked for it.
    const requests = bed.emulator.stanzas().slice(before);
    expect(requests.filter(({ attrs }) => attrs.type === 'server-error')).toEqual([]);
    expect(bed.emulator.mediaHost.downloads).toHaveLength(downloads);
  });

  it('that WhatsApp has deleted is requested from the phone again', async () => {
    const person = bed.person();
    await abiRoute(person.phone, analyst, { functions: specificationFunctions });
    const message = bed.emulator.mediaHost.message('image', png, { caption: '/analyze' });
    bed.emulator.mediaHost.expire(message);
    await person.say(message, { to: bed.phone });
    expect((await person.nextReply()).text).toBe(analysis(png));
  });

  it('is not fetched for an agent without media', async () => {
    const person = bed.person();
    const before = bed.emulator.mediaHost.downloads.length;
    await abiRoute(person.phone, analyst, { functions: specificationFunctions });
    await person.say(bed.emulator.mediaHost.message('image', png, { caption: '/add 2 40' }), {
      to: bed.phone,
    });
    expect((await person.nextReply()).text).toBe('42');
    const id = await person.say(bed.emulator.mediaHost.message('image', png), { to: bed.phone });
    expect(await endOf(id)).toMatchObject({ state: 'ignored', reason: 'unsupported-kind:image' });
    expect(bed.emulator.mediaHost.downloads).toHaveLength(before);
  });
});

describe('A file that cannot be loaded', () => {
  const cases: Array<[string, string, string, (person: Person) => Promise<string>]> = [
    [
      'was deleted',
      'MEDIA_GONE',
      GONE,
      async (person) => {
        const message = bed.emulator.mediaHost.message('image', png, { caption: '/analyze' });
        bed.emulator.mediaHost.forget(message);
        return person.say(message, { to: bed.phone });
      },
    ],
    [
      'is corrupted during the download',
      'MEDIA_BROKEN',
      DAMAGED,
      async (person) => {
        bed.emulator.mediaHost.faults.corruptedDownloads = 1;
        return person.say(bed.emulator.mediaHost.message('image', png, { caption: '/analyze' }), {
          to: bed.phone,
        });
      },
    ],
    [
      'is too large, and says so',
      'MEDIA_TOO_LARGE',
      TOO_LARGE,
      async (person) =>
        person.say(
          bed.emulator.mediaHost.message('image', png, { caption: '/analyze', claimedBytes: 10_000_001 }),
          { to: bed.phone },
        ),
    ],
    [
      'is too large, and lies about it',
      'MEDIA_TOO_LARGE',
      TOO_LARGE,
      async (person) =>
        person.say(
          bed.emulator.mediaHost.message('image', Buffer.alloc(10_000_001), {
            caption: '/analyze',
            claimedBytes: 5,
          }),
          { to: bed.phone },
        ),
    ],
    [
      'stops half-way',
      'MEDIA_UNAVAILABLE',
      LATER,
      async (person) => {
        bed.emulator.mediaHost.faults.stalledDownloads = 1;
        return person.say(bed.emulator.mediaHost.message('image', png, { caption: '/analyze' }), {
          to: bed.phone,
        });
      },
    ],
  ];

  it.each(cases)(
    'because it %s is a dead letter with the reason, and an apology',
    async (_, code, polite, send) => {
      const [person, other] = [bed.person(), bed.person()];
      await abiRoute(person.phone, analyst, { functions: specificationFunctions });
      await abiRoute(other.phone, analyst, { functions: specificationFunctions });
      const asked = analyst.requests.length;
      const id = await send(person);
      await other.say('/add 2 40', { to: bed.phone });
      expect((await other.nextReply()).text).toBe('42');
      expect((await person.nextReply()).text).toBe(polite);
      expect(await endOf(id)).toMatchObject({ state: 'dead', reason: code });
      expect(analyst.requests).toHaveLength(asked + 1);
      expect(bed.service.output).not.toContain('mediaKey');
      await person.say('/add 1 1', { to: bed.phone });
      expect((await person.nextReply()).text).toBe('2');
    },
  );
});

describe('A file that an agent sends', () => {
  it.each([
    ['image', { image: '{{0}}', caption: 'A drawing of {{0}}' }, 'imageMessage', 'image/png'],
    ['audio', { audio: '{{0}}', mimeType: 'audio/mpeg' }, 'audioMessage', 'audio/mpeg'],
    ['document', { document: '{{0}}', fileName: 'd.png' }, 'documentMessage', 'image/png'],
  ] as const)(
    'arrives as %s, byte for byte, in a 1:1 chat and in a group',
    async (_kind, output, key, mimetype) => {
      const [ann, bo] = [bed.person(), bed.person()];
      const group = createGroup(bed.emulator, { subject: 'Art', members: [ann, bo, bed.phone] });
      const abi = { ...drawing, output: { ...output, ...('caption' in output && { caption: 'A drawing' }) } };
      await abiRoute(ann.phone, artist, abi);
      await abiRoute(group.jid, artist, abi);
      for (const [to, reader] of [
        [bed.phone, ann],
        [group, bo],
      ] as const) {
        const id = await ann.say('a cat', { to });
        const bubble = await reader.nextReply();
        expect(bubble.message[key]).toMatchObject({ mimetype });
        expect(bubble.text).toBe('caption' in output ? 'A drawing' : undefined);
        expect(fileIn(bubble)).toEqual(png);
        const { replies } = await endOf(id);
        expect(replies).toMatchObject([
          { media: { kind: _kind, mimeType: mimetype, sizeBytes: png.length } },
        ]);
        expect(JSON.stringify(replies).length).toBeLessThan(2_000);
      }
      if (key === 'documentMessage') {
        expect(ann.received[0]?.message.documentMessage?.fileName).toBe('d.png');
      }
    },
  );

  it('is supported by ADK routes with media, which also receive what people send', async () => {
    const person = bed.person();
    const bodies: Array<{ new_message: { parts: Array<Record<string, unknown>> } }> = [];
    const adk = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      // The probe of a new route reads the list of apps.
      if (request.method === 'GET') {
        response.writeHead(200, { 'content-type': 'application/json' }).end('["echo"]');
        return;
      }
      const body = JSON.parse(Buffer.concat(chunks).toString());
      bodies.push(body);
      const file = body.new_message.parts.find((part: object) => 'inlineData' in part);
      const parts = [{ text: 'the same again' }, file];
      const events = [{ author: 'model', content: { role: 'model', parts } }];
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(events));
    });
    await new Promise<void>((resolve) => adk.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(adk.address() as AddressInfo).port}`;
    await bed.service.addRoute(person.phone, url, {
      config: { adk: { appName: 'echo', dialect: 'snake', media: true } },
    });
    const message = bed.emulator.mediaHost.message('image', png, { mimeType: 'image/png' });
    await person.say(message, { to: bed.phone });
    const bubble = await person.nextReply();
    expect(bubble.text).toBe('the same again');
    expect(fileIn(bubble)).toEqual(png);
    expect(bodies).toHaveLength(1);
    await new Promise((resolve) => adk.close(resolve).closeAllConnections());
  });

  it('is shown by explain before a call, like the file of a message', async () => {
    const person = bed.person();
    const output = { image: '{{picture}}', caption: '{{words}}' };
    const functions = ['function frame(bytes data) returns (bytes picture, string words)'];
    await abiRoute(person.phone, artist, { functions, args: ['{{media}}'], output });
    const explain = async (more: Record<string, unknown>) => {
      const asked = { channelId: person.phone, text: '', ...more };
      return (await bed.service.api('POST', '/api/routes/explain', asked)).body.data;
    };
    expect(await explain({ media: { kind: 'image', mimeType: 'image/png', sizeBytes: 7 } })).toMatchObject({
      call: {
        function: 'frame(bytes)',
        arguments: { data: '<image/png, 7 bytes>' },
        calldata: expect.stringMatching(/^0x[0-9a-f]{8}… \(with the bytes of the file\)$/),
        reply: output,
      },
    });
    expect(await explain({})).toMatchObject({
      call: { kind: 'answer', why: 'mistake', text: expect.stringContaining('Please send a picture') },
    });
  });

  it('is sent later when its upload failed', async () => {
    const person = bed.person();
    await abiRoute(person.phone, artist, { ...drawing, output: { image: '{{0}}' } });
    bed.emulator.mediaHost.faults.failedUploads = 1;
    await person.say('a cat', { to: bed.phone });
    expect(fileIn(await person.nextReply())).toEqual(png);
    expect(person.received).toHaveLength(1);
  });

  it('is sent and uploaded once across a crash, and sent again to a phone that lost it', async () => {
    const person = bed.person();
    await abiRoute(person.phone, artist, { ...drawing, output: { image: '{{0}}' } });
    const { uploads } = bed.emulator.mediaHost;
    for (const point of ['after-outbox-write', 'after-socket-write']) {
      const before = person.received.length;
      const uploaded = uploads.length;
      await bed.service.end();
      await bed.restartService({ WA2AI_FAULT_POINT: `${point}:1` });
      await person.say('a cat', { to: bed.phone });
      await bed.service.untilExit();
      await bed.restartService();
      await person.waitForReceived(before + 1);
      await bed.emulator.waitUntilSettled(String(bed.emulator.linkedDevices(bed.phone.pn)[0]?.pn));
      const [bubble, ...more] = person.received.slice(before);
      expect(more).toEqual([]);
      expect(fileIn(bubble as ReceivedMessage)).toEqual(png);
      expect(uploads).toHaveLength(uploaded + 1);
      // Messages without an ack before the crash are sent again and count as repeats.
      const sent = sql`outbox WHERE wa_message_id = ${bubble?.id} AND acked_at IS NOT NULL`;
      await expect.poll(() => countRows(bed.database.open(), sent)).toBe(1);
    }
    const [last] = person.received.slice(-1);
    // The ack may arrive before a repeat sent meanwhile.
    const [row] = await bed.database
      .open()
      .query<{ repeats: number }>(
        sql`SELECT attempts - 1 AS repeats FROM outbox WHERE wa_message_id = ${last?.id}`,
      );
    const repeats = row?.repeats ?? 0;
    await expect.poll(() => last?.repeats, { timeout: 60_000 }).toBe(repeats);
    person.askAgain(last?.id ?? '');
    await expect.poll(() => last?.repeats, { timeout: 60_000 }).toBe(repeats + 1);
    expect(person.received).toHaveLength(2);
  });
});
