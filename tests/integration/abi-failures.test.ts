import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
} from '../../router/src/core/errors.ts';
import { AbiAgentClient } from '../../router/src/infra/abi-agent-client.ts';
import type { AbiStandIn } from '../fixtures/abi-agent-server.d.ts';
import { startAbiMockAgent } from '../fixtures/abi-mock-agent.js';
import { abiFailure, abiFunctions, askAbi, saying, serverOf } from '../support/abi.ts';
import { recordingLog } from '../support/quiet-log.ts';

let mock: AbiStandIn;

beforeAll(async () => {
  mock = await startAbiMockAgent();
});

afterAll(() => mock.close());

describe('agents that fail', () => {
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

  it('by not being there, by silence, by a lost connection', async () => {
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

  it('by an answer that is empty, garbled, of another type or too large', async () => {
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
      "The ABI agent's answer of 9 bytes to greet is not (string): it ends before greeting's offset.",
    );
    expect(await answering(Buffer.alloc(32, 7))).toMatch(/is not \(string\)/);
    expect(await answering(Buffer.from('{"steps":[],"result":"0x"}'))).toMatch(
      /it speaks the JSON envelope, set envelope to json/,
    );
    expect(await answering(Buffer.alloc(10 * 1024 * 1024 + 1))).toMatch(/too large/);
    await agent.close();
  });

  it('by 10 MB of hostile outputs, in bounded time, and the next call works', async () => {
    const agent = await startAbiMockAgent();
    const hostile = [Buffer.alloc(10 * 1024 * 1024, 0xff), Buffer.alloc(10 * 1024 * 1024)];
    // Every word 32: an offset, a length and an item at once.
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
        const startedMs = performance.now();
        expect(await abiFailure(agent, text)).toBeInstanceOf(AgentProtocolError);
        expect(performance.now() - startedMs).toBeLessThan(4_000);
      }
    }
    expect(await askAbi(mock, '/add 2 40')).toBe('42');
    await agent.close();
  });

  it('by an endless answer, which is cut off', async () => {
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

  it('without a word of the person in the log', async () => {
    const log = recordingLog();
    const talkative = new AbiAgentClient({ abi: { functions: abiFunctions }, log });
    await talkative.sendMessage(mock.url, saying('/greet Alice in Wonderland'));
    await talkative.sendMessage(mock.url, saying('/greet'));
    expect(JSON.stringify(log.lines)).not.toMatch(/Wonderland|34600111222/);
  });
});
