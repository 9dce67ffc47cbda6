import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
} from '../../router/src/core/errors.ts';
import type { AbiStandIn } from '../fixtures/abi-agent-server.d.ts';
import { startAbiMockAgent } from '../fixtures/abi-mock-agent.js';
import {
  abiClientWith,
  abiFailure,
  abiFunctions,
  askAbi,
  saying,
  serverOf,
  tlsServerOf,
  vitalik,
} from '../support/abi.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { recordingLog } from '../support/quiet-log.ts';

let mock: AbiStandIn;

beforeAll(async () => {
  mock = await startAbiMockAgent();
});

afterAll(() => mock.close());

describe('an agent that fails', () => {
  it.each([
    [503, {}, AgentUnavailableError],
    [429, {}, AgentUnavailableError],
    [502, {}, AgentUnavailableError],
    [504, {}, AgentTimeoutError],
    [400, {}, AgentProtocolError],
    [500, {}, AgentProtocolError],
    [404, {}, AgentProtocolError],
    [400, { idempotent: true }, AgentUnavailableError],
    [500, { idempotent: true }, AgentUnavailableError],
    [404, { idempotent: true }, AgentProtocolError],
  ])('with %i and %j', async (status, config, kind) => {
    const agent = await serverOf((_request, response) => {
      response.writeHead(status, { 'retry-after': '7' }).end('<h1>Broken</h1> for person 34600111222');
    });
    const error = await abiFailure(agent, '/greet Alice', config);
    expect(error).toBeInstanceOf(kind);
    expect(error.message).toBe(`The ABI agent answered status ${status}: Broken for person [user]`);
    if (status === 503) expect((error as AgentUnavailableError).retryAfterMs).toBe(7_000);
    expect(error.detail).toMatchObject({ abi: { function: 'greet(string)', arguments: { name: 'Alice' } } });
    expect(JSON.stringify(error)).not.toContain('Alice');
  });

  it('by refusing, ignoring or dropping connections', async () => {
    const gone = await startAbiMockAgent();
    await gone.close();
    expect(await abiFailure(gone, '/greet A')).toBeInstanceOf(AgentUnavailableError);
    expect(await abiFailure({ url: 'http://127.0.0.1:6000' }, '/greet A')).toBeInstanceOf(
      AgentUnavailableError,
    );
    const silent = await serverOf(() => undefined);
    expect(await abiFailure(silent, '/greet A', {}, 200)).toBeInstanceOf(AgentTimeoutError);
    expect(await abiFailure(silent, '/greet A', { idempotent: true, timeoutMs: 200 })).toBeInstanceOf(
      AgentUnavailableError,
    );
    const rude = await serverOf((request) => request.socket.destroy());
    expect(await abiFailure(rude, '/greet A')).toBeInstanceOf(AgentTimeoutError);
  });

  it('by a redirect, which is reported with its target', async () => {
    const agent = await serverOf((_request, response) => {
      response.writeHead(308, { location: 'https://agent.example/v2/' }).end();
    });
    expect((await abiFailure(agent, '/greet A')).message).toBe(
      'The ABI agent answered status 308 (redirects are not followed; it points to https://agent.example/v2/)',
    );
  });

  it('by plain HTTP at an https URL receives no call', async () => {
    const agent = await serverOf((_request, response) => response.end());
    const error = await abiFailure({ url: agent.url.replace('http:', 'https:') }, '/greet A');
    expect(error).toBeInstanceOf(AgentUnavailableError);
    expect(error.message).toBe(
      'The ABI agent cannot be reached: it does not speak TLS on that port; its address may have to begin with http://.',
    );
  });

  it('by an untrusted certificate receives no call', async () => {
    let asks = 0;
    const agent = await tlsServerOf((_request, response) => {
      asks += 1;
      response.end();
    });
    const error = await abiFailure(agent, '/greet A');
    expect(error).toBeInstanceOf(AgentUnavailableError);
    expect(error.message).toBe('The ABI agent cannot be reached: its certificate is self-signed.');
    expect(asks).toBe(0);
  });

  it('by listening on a port that fetch blocks', async () => {
    expect((await abiFailure({ url: 'http://127.0.0.1:6000' }, '/greet A')).message).toBe(
      'The ABI agent cannot be reached: the fetch standard forbids port 6000; let the agent listen on another port.',
    );
  });

  it('by an error in the JSON envelope, whose text the admin reads', async () => {
    const body = JSON.stringify({
      steps: [{ name: 'request_received' }, { name: 'error', message: 'no such\ncity' }],
      result: null,
    });
    let status = 500;
    const agent = await serverOf((_request, response) => response.writeHead(status).end(body));
    const refused = 'The ABI agent answered status 500: no such\ncity';
    expect((await abiFailure(agent, '/greet A', { envelope: 'json' })).message).toBe(refused);
    expect((await abiFailure(agent, '/greet A', { envelope: 'auto' })).message).toBe(refused);
    status = 200;
    const empty =
      "The ABI agent's JSON envelope contains no hex result (steps: request_received, error): no such\ncity.";
    expect((await abiFailure(agent, '/greet A', { envelope: 'json' })).message).toBe(empty);
    expect((await abiFailure(agent, '/greet A', { envelope: 'auto' })).message).toBe(empty);
  });

  it('by a text response, which the admin reads', async () => {
    const answering = async (body: string, text = '/greet A') => {
      const agent = await serverOf((_request, response) => response.end(body));
      return (await abiFailure(agent, text)).message;
    };
    expect(await answering(`0x${'0'.repeat(63)}3`, '/add 1 2')).toMatch(
      /; it is hex written as text, but must be the bytes themselves\.$/,
    );
    expect(await answering('<html><body>Welcome to nginx!</body></html>')).toMatch(
      /; it is text: 'Welcome to nginx!'\.$/,
    );
    expect(await answering('I know 34600111222 and "/greet A"')).toMatch(
      /; it is text: 'I know \[user\] and/,
    );
  });

  it('never puts the text of a person into the error, even when the agent quotes it', async () => {
    const agent = await serverOf((request, response) => {
      response
        .writeHead(422)
        .end(`cannot greet Alice in Wonderland, nor 0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045`);
      request.resume();
    });
    const functions = ['function greet(string name, (address who, bytes data)[] rest)'];
    const text = `/greet "Alice in Wonderland" [["${vitalik}", "0x12"]]`;
    expect((await abiFailure(agent, text, { functions })).message).toBe(
      'The ABI agent answered status 422: cannot greet [argument], nor [argument]',
    );
  });

  it('by exceeding the default limit of 30 seconds', async () => {
    let isAsked = () => {};
    const arrival = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    const silent = await serverOf(() => isAsked());
    const clock = new FakeClock();
    const patient = abiClientWith({ abi: { functions: abiFunctions }, clock });
    const asked = patient.sendMessage(silent.url, saying('/greet A')).catch((error: unknown) => error);
    await arrival;
    await clock.advanceMs(29_999);
    expect(await Promise.race([asked, 'still waiting'])).toBe('still waiting');
    await clock.advanceMs(1);
    expect(await asked).toBeInstanceOf(AgentTimeoutError);
    expect(await asked).toMatchObject({ message: 'The ABI agent did not answer within 30000 ms.' });
  });

  it('receives no call above 10 MB', async () => {
    const before = mock.requests.length;
    const args = ['{{text}}'.repeat(200)];
    const error = await abiFailure(mock, 'x'.repeat(60_000), { function: 'greet', args });
    expect(error).toBeInstanceOf(AgentProtocolError);
    expect(error.message).toBe('The ABI call is larger than 10 MB.');
    expect(mock.requests).toHaveLength(before);
  });

  it('by a response that is empty, malformed, of another type or too large', async () => {
    const agent = await startAbiMockAgent();
    const answering = async (body: Buffer, text = '/greet A') => {
      agent.change({ body });
      return (await abiFailure(agent, text)).message;
    };
    const empty = await serverOf((_request, response) => response.end());
    expect((await abiFailure(empty, '/greet A')).message).toBe(
      'The ABI agent answered nothing; greet answers (string).',
    );
    expect(await answering(Buffer.from('Hello, A!'))).toBe(
      "The ABI agent's answer of 9 bytes to greet is not (string): it ends before greeting's offset; it is text: 'Hello, A!'.",
    );
    expect(await answering(Buffer.alloc(32, 7))).toMatch(/is not \(string\)/);
    expect(await answering(Buffer.from('{"steps":[],"result":"0x"}'))).toMatch(
      /it is the JSON envelope, set envelope to json/,
    );
    expect(await answering(Buffer.alloc(10 * 1024 * 1024 + 1))).toMatch(/too large/);
    await agent.close();
  });

  it('by 10 MB of hostile outputs does not block the next call', async () => {
    const agent = await startAbiMockAgent();
    const hostile = [Buffer.alloc(10 * 1024 * 1024, 0xff), Buffer.alloc(10 * 1024 * 1024)];
    // Each word is 32: an offset, a length and an item at once.
    for (let at = 31; at < 10 * 1024 * 1024; at += 32) (hostile[1] as Buffer)[at] = 32;
    for (const text of [
      '/greet A',
      '/sumArray [1]',
      '/echoNested [["a"],[]]',
      '/echoDeep ["a",[]]',
      '/echoTuples []',
    ]) {
      for (const body of hostile) {
        agent.change({ body });
        expect(await abiFailure(agent, text)).toBeInstanceOf(AgentProtocolError);
      }
    }
    expect(await askAbi(mock, '/add 2 40')).toBe('42');
    await agent.close();
  });

  it('by an endless response, which is cut off', async () => {
    const endless = await serverOf((_request, response) => {
      const chunk = Buffer.alloc(1024 * 1024);
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      more();
    });
    expect((await abiFailure(endless, '/greet A')).message).toMatch(/too large/);
  });

  it('never puts the text of a person into the log', async () => {
    const log = recordingLog();
    const talkative = abiClientWith({ abi: { functions: abiFunctions }, log });
    await talkative.sendMessage(mock.url, saying('/greet Alice in Wonderland'));
    await talkative.sendMessage(mock.url, saying('/greet'));
    expect(JSON.stringify(log.lines)).not.toMatch(/Wonderland|34600111222/);
  });
});
