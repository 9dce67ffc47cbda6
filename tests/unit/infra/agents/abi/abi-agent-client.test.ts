import { describe, expect, it } from 'vitest';
import {
  AgentProtocolError,
  AgentUncertainError,
  MediaError,
} from '../../../../../router/src/core/errors.ts';
import { MAX_MEDIA_BYTES } from '../../../../../router/src/core/models.ts';
import type { AbiSettings } from '../../../../../router/src/infra/agents/abi/abi-settings.ts';
import { createAbi } from '../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import { viemParameter } from '../../../../../router/src/infra/agents/abi/codec/abi-type.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import type {
  Fetched,
  FetchOptions,
} from '../../../../../router/src/infra/agents/transport/bounded-fetch.ts';
import { abiClientWith, saying } from '../../../../support/abi.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

const URL = 'http://agent/';
const functions = [
  'add(uint256 a, uint256 b) returns (uint256 sum)',
  'greet(string name) returns (string greeting)',
  'draw() returns (bytes chart)',
];
const abi = await createAbi(functions);
const media = { kind: 'image' as const, mimeType: 'image/png', sizeBytes: 3 };

/** Encoded outputs of a function. */
function outputs(name: string, ...values: Array<bigint | string>): Buffer {
  const params = abi.byName.get(name)?.[0]?.outputs ?? [];
  return Buffer.from(abi.codec.encode(params.map(viemParameter), values).slice(2), 'hex');
}

function answer(status: number, body: Buffer | string): Fetched {
  return { kind: 'answer', status, headers: new Headers(), body: Buffer.from(body) };
}

const envelope = (body: Buffer) => JSON.stringify({ steps: [], result: `0x${body.toString('hex')}` });
const refusal = JSON.stringify({ steps: [{ name: 'error', message: 'no JSON' }] });

type Reply = Fetched | ((signal: AbortSignal) => Promise<Fetched>);

/** An agent without a network: its answers in their order, the last one for ever. */
class ScriptedTransport extends AgentTransport {
  readonly requests: Array<{ url: string } & FetchOptions> = [];
  replies: Reply[];

  constructor(replies: Reply[]) {
    super();
    this.replies = replies;
  }

  override async fetch(url: string, options: FetchOptions): Promise<Fetched> {
    this.requests.push({ url, ...options });
    const [reply, ...later] = this.replies;
    if (!reply) throw new Error('no request was expected');
    if (later.length > 0) this.replies = later;
    return typeof reply === 'function' ? await reply(options.signal) : reply;
  }
}

function setup(settings: Partial<AbiSettings> = {}, ...replies: Reply[]) {
  const transport = new ScriptedTransport(replies);
  const clock = new FakeClock();
  const log = recordingLog();
  const client = abiClientWith({ abi: { functions, ...settings }, transport, clock, log });
  const types = () => transport.requests.map(({ headers }) => headers.get('content-type'));
  return { client, clock, log, transport, types };
}

describe('a call', () => {
  it('goes to the path of the route with its headers, and its outputs are the reply', async () => {
    const { client, transport, log } = setup(
      { path: '/call', headers: { 'X-Api-Key': 'k' } },
      answer(200, outputs('add', 42n)),
    );
    const response = await client.sendMessage(URL, saying('/add 2 40'));
    const shown = {
      function: 'add(uint256,uint256)',
      selector: '0x771602f7',
      arguments: { a: '2', b: '40' },
      outputs: { sum: '42' },
      calldata: `0x771602f7${'2'.padStart(64, '0')}${'28'.padStart(64, '0')}`,
    };
    expect(response).toEqual({
      success: true,
      isPlain: true,
      response: '42',
      metadata: { abi: shown },
      detail: { abi: shown },
    });
    const [request] = transport.requests;
    expect(request).toMatchObject({ url: 'http://agent/call', method: 'POST' });
    expect(request?.headers.get('x-api-key')).toBe('k');
    expect(`0x${Buffer.from(request?.body as Uint8Array).toString('hex')}`).toBe(shown.calldata);
    expect(log.lines).toEqual([
      {
        level: 'info',
        fields: { waMessageId: '3EB0ABC', function: 'add(uint256,uint256)' },
        message: 'ABI agent answered',
      },
    ]);
  });

  it('is not made for a mistake or for help', async () => {
    const { client, transport } = setup();
    expect(await client.sendMessage(URL, saying('/add 2 x'))).toEqual({
      success: true,
      isPlain: true,
      response: "b must be a whole number from 0 to 2^256-1, got 'x'.",
      metadata: { abi: { answeredBy: 'wa2ai', why: 'mistake' } },
      detail: { abi: { answeredBy: 'wa2ai', why: 'mistake' } },
    });
    expect(await client.sendMessage(URL, saying('/help'))).toMatchObject({
      metadata: { abi: { why: 'help' } },
    });
    expect(transport.requests).toEqual([]);
  });

  it.each([
    ['/add 2 40', {}, 1],
    ['/add 2 x', {}, 0],
    ['/help', {}, 0],
    ['/add 2 40', { isRepeat: true, uncertain: 'dead-letter' }, 0],
  ] as const)('for %s with %j counts as %i attempts', async (text, options, expected) => {
    const { client, transport } = setup({}, answer(200, outputs('add', 42n)));
    let attempts = 0;
    const beforeRequest = async () => {
      attempts += 1;
      expect(transport.requests).toEqual([]);
    };
    await client.sendMessage(URL, saying(text), { ...options, beforeRequest }).catch(() => undefined);
    expect(attempts).toBe(expected);
    expect(transport.requests).toHaveLength(expected);
  });

  it('has a file as its reply when the outputs of the function of the route are one', async () => {
    const { client } = setup(
      { function: 'draw', output: { image: '{{chart}}', caption: 'Here' } },
      answer(200, outputs('draw', '0xffd8ff00')),
    );
    const response = await client.sendMessage(URL, saying('/draw'));
    expect(response).toMatchObject({
      response: 'Here',
      files: [{ kind: 'image', mimeType: 'image/jpeg', bytes: Buffer.from('ffd8ff00', 'hex') }],
      metadata: { abi: { outputs: { chart: '<image/jpeg, 4 bytes>' } } },
    });
  });

  it('uses the output template for the function of the route only', async () => {
    const { client, transport } = setup(
      { function: 'add', output: 'It is {{sum}}.' },
      answer(200, outputs('add', 42n)),
    );
    expect((await client.sendMessage(URL, saying('2 40'))).response).toBe('It is 42.');
    transport.replies = [answer(200, outputs('greet', 'Hi'))];
    expect((await client.sendMessage(URL, saying('/greet Ann'))).response).toBe('Hi');
  });
});

describe('the envelope of a call under auto', () => {
  const auto = { envelope: 'auto' } as const;

  it('is raw first, then JSON for an agent that refuses with its own envelope, from then on at once', async () => {
    const json = answer(200, envelope(outputs('add', 42n)));
    const { client, types } = setup(auto, answer(400, refusal), json);
    expect((await client.sendMessage(URL, saying('/add 2 40'))).response).toBe('42');
    expect((await client.sendMessage(URL, saying('/add 2 40'))).response).toBe('42');
    expect(types()).toEqual(['application/octet-stream', 'application/json', 'application/json']);
  });

  it('does not repeat a refused call in JSON once it is detected', async () => {
    const { client, transport } = setup(
      auto,
      answer(400, refusal),
      answer(200, envelope(outputs('add', 42n))),
      answer(500, refusal),
    );
    await client.sendMessage(URL, saying('/add 2 40'));
    await expect(client.sendMessage(URL, saying('/add 2 40'))).rejects.toThrow('status 500: no JSON');
    expect(transport.requests).toHaveLength(3);
  });

  it('is not kept when the call in JSON failed too', async () => {
    const { client, types, transport } = setup(auto, answer(500, refusal), answer(500, refusal));
    await expect(client.sendMessage(URL, saying('/add 2 40'))).rejects.toThrow('status 500: no JSON');
    transport.replies = [answer(200, outputs('add', 42n))];
    expect((await client.sendMessage(URL, saying('/add 2 40'))).response).toBe('42');
    expect(types()).toEqual(['application/octet-stream', 'application/json', 'application/octet-stream']);
  });

  it.each([
    [
      'an answer in the envelope with a result, because the function was called',
      answer(200, envelope(outputs('add', 42n))),
    ],
    ['a refusal in another form', answer(400, 'no')],
    ['a connection that ended', { kind: 'fault', fault: 'broken', detail: { sentence: 'x' } } as const],
  ])('is not asked again after %s', async (_name, reply) => {
    const { client, transport } = setup(auto, reply);
    await expect(client.sendMessage(URL, saying('/add 2 40'))).rejects.toThrow();
    expect(transport.requests).toHaveLength(1);
  });
});

describe('a failed call', () => {
  it('has the call as its detail, without text of the person in the error itself', async () => {
    const { client } = setup({}, answer(422, 'cannot greet Alice in Wonderland'));
    const error = await client
      .sendMessage(URL, saying('/greet Alice in Wonderland'))
      .catch((caught) => caught);
    expect(error).toBeInstanceOf(AgentProtocolError);
    expect(error.message).toBe('The ABI agent answered status 422: cannot greet [argument]');
    expect(error.detail).toMatchObject({ abi: { arguments: { name: 'Alice in Wonderland' } } });
    expect(JSON.stringify(error)).not.toContain('Alice');
  });
});

describe('a call after an attempt that may have happened', () => {
  const repeat = { isRepeat: true, uncertain: 'dead-letter' } as const;

  it('is refused when the route forbids it', async () => {
    const { client, transport } = setup();
    const error = await client
      .sendMessage(URL, saying('/add 2 40'), repeat)
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(AgentUncertainError);
    expect(error).toMatchObject({ detail: { abi: { function: 'add(uint256,uint256)' } } });
    expect(transport.requests).toEqual([]);
  });

  it.each([
    ['the route allows it', {}, { isRepeat: true, uncertain: 'retry' }],
    ['the calls are idempotent', { idempotent: true }, repeat],
    ['it is the first attempt', {}, { uncertain: 'dead-letter' }],
  ] as const)('is made when %s', async (_name, settings, options) => {
    const { client } = setup(settings, answer(200, outputs('add', 42n)));
    expect((await client.sendMessage(URL, saying('/add 2 40'), options)).response).toBe('42');
  });

  it('is not needed for a mistake, which is answered as before', async () => {
    const { client } = setup();
    expect((await client.sendMessage(URL, saying('/add 2 x'), repeat)).response).toMatch(/^b must be/);
  });
});

describe('the file of a message', () => {
  const hash = { functions: ['hash(bytes data) returns (uint256 size)'] };
  const three = answer(200, outputs('add', 3n));

  it('is fetched once for a call that needs it and logged without its bytes', async () => {
    const { client, transport } = setup(hash, three);
    let loads = 0;
    const loadMedia = async () => {
      loads += 1;
      return Buffer.from('aabbcc', 'hex');
    };
    const response = await client.sendMessage(URL, saying('', { media }), { loadMedia });
    expect(loads).toBe(1);
    expect(Buffer.from(transport.requests[0]?.body as Uint8Array).toString('hex')).toContain('aabbcc');
    expect(response).toMatchObject({ metadata: { abi: { arguments: { data: '<image/png, 3 bytes>' } } } });
    expect(JSON.stringify(response)).not.toContain('aabbcc');
  });

  it('is not fetched for a call that does not need it', async () => {
    const { client } = setup(hash, three);
    const loadMedia = () => Promise.reject(new Error('fetched'));
    expect((await client.sendMessage(URL, saying('/hash 0x12', { media }), { loadMedia })).response).toBe(
      '3',
    );
  });

  it('of another size than the function takes is a mistake of the person', async () => {
    const { client } = setup({ functions: ['hash(bytes32 data)'], args: ['{{media}}'] });
    const loadMedia = async () => Buffer.from([1, 2, 3]);
    expect((await client.sendMessage(URL, saying('', { media }), { loadMedia })).response).toMatch(
      /^data must be 32 bytes .*, got 3 bytes\.$/,
    );
  });

  it.each([
    ['MEDIA_TOO_LARGE', { ...media, sizeBytes: MAX_MEDIA_BYTES + 1 }],
    ['MEDIA_GONE', media],
  ])('is the error %s when it cannot be had, and nothing is called', async (code, file) => {
    const { client, transport } = setup(hash);
    const error = await client
      .sendMessage(URL, saying('', { media: file }))
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(MediaError);
    expect(error).toMatchObject({ code });
    expect(transport.requests).toEqual([]);
  });

  it('without text means something only when a call takes it', async () => {
    expect(await setup(hash).client.takesFile(saying('', { media }))).toBe(true);
    expect(await setup().client.takesFile(saying('', { media }))).toBe(false);
    expect(await setup({ functions: ['f(uint7 a)'] }).client.takesFile(saying('', { media }))).toBe(true);
  });
});

describe('settings that cannot be used', () => {
  it('are a protocol error that names the fields', async () => {
    const { client } = setup({ function: 'nope', output: '{{x}}' });
    await expect(client.sendMessage(URL, saying('x'))).rejects.toThrow(
      "The route's ABI cannot be used: config.abi.function names 'nope', which is not among the functions.",
    );
  });

  it('name the manifest when only it is to blame, and the route when its settings do not fit', async () => {
    const manifest = 'http://host/abi.json';
    const broken = setup({ functions: manifest }, answer(200, '["f(uint7 a)"]'));
    await expect(broken.client.sendMessage(URL, saying('x'))).rejects.toThrow(
      "The ABI agent's manifest cannot be used: [0] 'uint7' is not an ABI type.",
    );
    const other = setup({ functions: manifest, function: 'g' }, answer(200, '["f()"]'));
    await expect(other.client.sendMessage(URL, saying('x'))).rejects.toThrow(
      "The route's ABI cannot be used: config.abi.function names 'g'",
    );
  });
});

describe('a preview', () => {
  it('shows the call, and what the reply is when it is a file, without a request', async () => {
    const output = { image: '{{chart}}' };
    const { client, transport } = setup({ function: 'draw', output });
    expect(await client.preview(saying('/add 2 40'))).toMatchObject({
      kind: 'call',
      function: 'add(uint256,uint256)',
      calldata: expect.stringMatching(/^0x771602f7/),
    });
    expect(await client.preview(saying('/add 2 40'))).not.toHaveProperty('reply');
    expect(await client.preview(saying('/draw'))).toMatchObject({ kind: 'call', reply: output });
    expect(transport.requests).toEqual([]);
  });

  it('shows what would be answered without the agent', async () => {
    expect(await setup().client.preview(saying('/add 1'))).toEqual({
      kind: 'answer',
      why: 'mistake',
      text: '/add needs 2 arguments, got 1; write /add 1 2.',
    });
  });

  it('of a call with a file does not fetch it', async () => {
    const { client } = setup({ functions: ['hash(bytes data)'] });
    expect(await client.preview(saying('', { media }))).toMatchObject({
      arguments: { data: '<image/png, 3 bytes>' },
      calldata: expect.stringMatching(/^0x[0-9a-f]{8}… \(with the bytes of the file\)$/),
    });
  });
});
