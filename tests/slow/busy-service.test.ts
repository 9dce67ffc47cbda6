import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StandInAnswer, StandInServer } from '../doubles/stand-in-server.ts';
import { AGENT_KIND_SUBJECTS } from '../support/agent-kind-subjects.ts';
import { anyHostileText, HOSTILE_CHARS, HOSTILE_PIECES } from '../support/hostile-texts.ts';
import { mcpOverHttp } from '../support/mcp-client.ts';
import { runs } from '../support/property-runs.ts';
import { repositoryRoot } from '../support/repository.ts';
import { type Schema, valuesWithText } from '../support/schema-bodies.ts';
import { TestBed } from '../support/test-bed.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

/** The longest time that one text may keep the event loop of the service busy. */
const BUDGET_MS = 200;

/** Where random texts begin: set it to the number of a failure to see the same texts. */
const SEED = Number(process.env.WA2AI_FUZZ_SEED ?? Date.now() % 1_000_000);

let bed: TestBed;
let watchUrl: string;

beforeAll(async () => {
  bed = await TestBed.startPaired({
    nodeArgs: ['--import', pathToFileURL(join(repositoryRoot, 'dist/tests/support/busy-watch.js')).href],
  });
  const line = await bed.service.untilLog(({ busyWatchUrl }) => busyWatchUrl !== undefined);
  watchUrl = String(line.busyWatchUrl);
  const governor = { firstContacts: { perDay: 0 }, messages: { perSecond: 0 } };
  expect((await bed.service.api('PUT', '/api/settings/governor', governor)).status).toBe(200);
});

afterAll(() => bed.close());

/** The longest turn of the event loop that `work` caused, in milliseconds of the processor. */
async function busyMsOf(work: () => Promise<unknown>): Promise<number> {
  await fetch(watchUrl);
  await work();
  return Number(await (await fetch(watchUrl)).text());
}

/** The part of an operation in OpenAPI that says what a body has. */
interface Operation {
  requestBody?: { content: Record<string, { schema: Schema }> };
}

/** A door of the service, and what sends a text through it until the service is done with it. */
type Door = [name: string, send: (text: string) => Promise<unknown>];

/** Sends texts through doors, one after another. @throws a text ended the service @returns those over the budget in each of three tries */
async function slowTexts(doors: readonly Door[], { numRuns }: { numRuns: number }): Promise<string[]> {
  const texts = anyHostileText(seeded(SEED));
  const slow: string[] = [];
  for (const [name, send] of doors) {
    await send('hello');
    for (let sent = 0; sent < numRuns; sent++) {
      const text = texts.next().value as string;
      let ms = Number.POSITIVE_INFINITY;
      for (let tries = 0; tries < 3 && ms > BUDGET_MS; tries++) {
        const busyMs = await busyMsOf(() => send(text)).catch((cause: unknown) => {
          const what = `${name}, seed ${SEED}: ${JSON.stringify(text.slice(0, 100))}`;
          throw new Error(`${what} was not answered:\n${bed.service.tail()}`, { cause });
        });
        ms = Math.min(ms, busyMs);
      }
      if (ms > BUDGET_MS) {
        slow.push(`${Math.round(ms)} ms, seed ${SEED}: ${name}: ${JSON.stringify(text.slice(0, 100))}`);
      }
    }
  }
  return slow;
}

/** Mulberry32: the same numbers from 0 to 1 for the same seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** All agents with an address. */
const SUBJECTS = AGENT_KIND_SUBJECTS.filter(({ name }) => name !== 'hosted');

describe.each(SUBJECTS)(
  `a message of ${HOSTILE_CHARS} characters to an agent`,
  ({ name, start, settings }) => {
    let server: StandInServer;
    let person: Person;
    beforeAll(async () => {
      server = await start();
      person = bed.person();
      const own = name === 'shell' ? { ...settings, allow: [person.phone] } : settings;
      // Over a message of the largest size, so that the number of messages does not grow.
      const config = { adk: undefined, [name]: own, reply: { maxChars: 65_536 }, failure: { tryForMs: 0 } };
      await bed.service.addRoute(person.phone, server.url, { config, priority: 10 });
    });
    afterAll(() => server.close());

    /** Resolves when the turn of the text has ended and its replies are there. */
    async function say(text: string): Promise<void> {
      const [from, received] = [bed.service.lines.length, person.received.length];
      await person.say(text, { to: bed.phone });
      const { replies } = await bed.service.untilLog(({ msg }) => msg === 'turn ended', 60_000, from);
      await person.waitForReceived(received + Number(replies));
    }

    /** The service may not stop to ask an agent because its answers are bad. */
    const answering = (answer: (text: string) => StandInAnswer) => async (text: string) => {
      server.misbehaviour = () => answer(text);
      await say('a');
      server.misbehaviour = undefined;
      await say('a');
    };

    it(`of the kind ${name}, and its answers, are worked on within ${BUDGET_MS} ms`, async () => {
      const doors: Door[] = [
        ['a message that the agent repeats', say],
        ['a body that is no JSON', answering((text) => ({ body: text }))],
        ['a body of JSON', answering((text) => ({ body: { error: text, message: text, detail: text } }))],
        ['an error', answering((text) => ({ status: 400, body: text }))],
        ['an error in JSON', answering((text) => ({ status: 422, body: { error: { message: text } } }))],
      ];
      expect(await slowTexts(doors, runs(10))).toEqual([]);
    }, 900_000);
  },
);

describe(`a body of ${HOSTILE_CHARS} characters`, () => {
  const json = { 'content-type': 'application/json' };
  /** The service may close the connection of a body that is too large before all of it is sent. */
  const send = (method: string, path: string, body: string, headers: Record<string, string> = json) =>
    fetch(bed.service.url + path, { method, headers, body, redirect: 'manual' })
      .then((response) => response.text())
      .catch(() => undefined);
  const post = (path: string, body: string, headers?: Record<string, string>) =>
    send('POST', path, body, headers);
  const call = (path: string, method: string, params: unknown) =>
    post(path, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), {
      ...json,
      accept: 'application/json, text/event-stream',
    });

  it(`in every field of every operation is worked on within ${BUDGET_MS} ms`, async () => {
    const document = (await (await fetch(`${bed.service.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, Operation>>;
      components: { schemas: Record<string, Schema> };
    };
    const resolve = (ref: string) => document.components.schemas[ref.split('/').at(-1) as string] ?? {};
    const doors: Door[] = [];
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const [name, operation] of Object.entries(operations)) {
        const method = name.toUpperCase();
        const schema = operation.requestBody?.content['application/json']?.schema;
        if (!schema) continue;
        const called = path.replaceAll(/\{\w+\}/g, '01900000-0000-7000-8000-000000000001');
        doors.push([`${method} ${path}, no JSON`, (text) => send(method, called, text)]);
        for (const [index, value] of valuesWithText(schema, resolve).entries()) {
          doors.push([
            `${method} ${path}, text ${index}`,
            (text) => send(method, called, JSON.stringify(value(text))),
          ]);
        }
      }
    }
    expect(doors.length).toBeGreaterThan(300);
    expect(await slowTexts(doors, runs(2))).toEqual([]);
  }, 900_000);

  it(`in every field of every tool of MCP is worked on within ${BUDGET_MS} ms`, async () => {
    const client = await mcpOverHttp(bed.service.url);
    const { tools } = await client.listTools();
    const doors: Door[] = tools.flatMap(({ name, inputSchema }) =>
      valuesWithText(inputSchema as Schema, () => ({})).map(
        (value, index): Door => [
          `${name}, text ${index}`,
          (text) => call('/mcp', 'tools/call', { name, arguments: value(text) }),
        ],
      ),
    );
    expect(doors.length).toBeGreaterThan(30);
    doors.push(
      ['the name of a tool', (text) => call('/mcp', 'tools/call', { name: text, arguments: {} })],
      ['the address of a resource', (text) => call('/mcp', 'resources/read', { uri: text })],
      ['no JSON', (text) => post('/mcp', text)],
    );
    expect(await slowTexts(doors, runs(10))).toEqual([]);
  }, 900_000);

  it(`for A2A, the NPC, and files of routes is worked on within ${BUDGET_MS} ms`, async () => {
    const settings = { enabled: true, name: 'Guard' };
    expect((await bed.service.api('PUT', '/api/settings/npc', settings)).status).toBe(200);
    const task = (type: string, params: unknown) => call('/rpc', 'task.open', { type, params });
    const message = (parts: unknown[]) => ({ messageId: 'm', role: 'ROLE_USER', parts });
    const legacy = (parts: unknown[]) => ({ kind: 'message', messageId: 'm', role: 'user', parts });
    const yaml = { 'content-type': 'application/yaml' };
    const doors: Door[] = [
      ['A2A, no JSON', (text) => post('/a2a', text)],
      ['A2A, method', (text) => call('/a2a', text, {})],
      ['A2A 1.0, text', (text) => call('/a2a', 'SendMessage', { message: message([{ text }]) })],
      [
        'A2A 1.0, data',
        (text) =>
          call('/a2a', 'SendMessage', {
            message: message([{ data: { skill: 'message-person', to: text, text } }]),
          }),
      ],
      ['A2A 1.0, task', (text) => call('/a2a', 'GetTask', { id: text })],
      [
        'A2A 0.3, text',
        (text) => call('/a2a', 'message/send', { message: legacy([{ kind: 'text', text }]) }),
      ],
      ['NPC, no JSON', (text) => post('/rpc', text)],
      ['NPC, method', (text) => call('/rpc', text, {})],
      ['NPC, social', (text) => task('social', { action: 'greet', message: text })],
      ['NPC, emotion', (text) => task('emotion', { trigger: text, intensity: 1 })],
      ['NPC, memory', (text) => task('memory', { memoryType: 'event', content: { text } })],
      ['NPC, recall', (text) => task('memory', { action: 'recall', query: text })],
      ['NPC, trade', (text) => task('trade', { item: text, quantity: 1, price: text })],
      ['YAML', (text) => post('/api/routes/apply', text, yaml)],
      ['YAML, quoted', (text) => post('/api/routes/apply', `routes: ["${text}`, yaml)],
      ['YAML, routes', (text) => post('/api/routes/apply', `routes:\n- channelId: ${text}`, yaml)],
    ];
    expect(await slowTexts(doors, runs(10))).toEqual([]);
  }, 900_000);

  it('in YAML is not parsed for a key that is restricted to chats', async () => {
    const made = await bed.service.api('POST', '/api/keys', {
      ...{ name: 'one chat', scopes: ['routes:write'], chats: ['5493777239922'] },
    });
    const { key } = made.body.data as { key: string };
    const headers = { 'content-type': 'application/yaml', 'x-api-key': key };
    for (const text of ['[', 'a: 1', ...HOSTILE_PIECES.slice(0, 8).map((piece) => piece.repeat(25_000))]) {
      const response = await fetch(`${bed.service.url}/api/routes/apply`, {
        ...{ method: 'POST', headers, body: text },
      });
      expect(response.status).toBe(403);
    }
  });

  it('previews a template of blanks, and explains with a pattern that never ends', async () => {
    const { url } = bed.agent;
    const output = `{{${' '.repeat(2_000)}`;
    const preview = { create: { channelId: '*', agentEndpoint: url, config: { a2a: { output } } } };
    const pattern = '(\\w+\\s*)+--force$';
    const [ana, bo] = [bed.person(), bed.person()];
    await bed.service.addRoute(bo.phone, url, { regexFilter: pattern, priority: 10 });
    const shell = { allow: ['5493777239922'], token: 'a-token-of-a-shell', confirm: [pattern] };
    await bed.service.addRoute(ana.phone, url, { config: { adk: undefined, shell }, priority: 10 });
    const explain = (from: string) => ({ from, text: `${'a '.repeat(20)}!` });
    const doors: Array<[string, object]> = [
      ['/api/routes/preview', preview],
      ['/api/routes/explain', explain(ana.phone)],
      ['/api/routes/explain', explain(bo.phone)],
    ];
    for (const [path, body] of doors) {
      let ms = Number.POSITIVE_INFINITY;
      for (let tries = 0; tries < 3 && ms > BUDGET_MS; tries++) {
        ms = Math.min(ms, await busyMsOf(() => bed.service.api('POST', path, body)));
      }
      expect(ms, path).toBeLessThan(BUDGET_MS);
    }
  });
});
