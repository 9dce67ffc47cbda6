import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from 'vitest';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
} from '../../router/src/core/errors.ts';
import { HttpAgentClient } from '../../router/src/infra/http-agent-client.ts';
import {
  type AdkMockAgent,
  type AdkMockAgentOptions,
  startAdkMockAgent,
} from '../fixtures/adk-mock-agent.js';

/** The mock agent, and how HttpAgentClient handles each of its faults over real connections. */

const message = {
  id: 'm',
  from: '5491@s.whatsapp.net',
  channelId: '5491',
  text: 'hola',
  timestamp: new Date(0),
};
let agent: AdkMockAgent;
afterEach(() => agent.close());

async function start(options: AdkMockAgentOptions = {}): Promise<void> {
  agent = await startAdkMockAgent(options);
}

function ask(timeout = 30_000) {
  return new HttpAgentClient({ timeout, adk: { appName: 'test_agent' } }).sendMessage(agent.url, message);
}

describe('the mock agent', () => {
  it('answers three times and then stops responding', async () => {
    await start();
    const answers = [await ask(), await ask(), await ask(), await ask()];
    expect(answers.map((answer) => answer.response)).toEqual([
      'Echo: hola',
      'Echo: hola',
      'Echo: hola',
      undefined,
    ]);
  });

  it('answers without a limit when configured so, from a template', async () => {
    await start({ maxAnswers: 0, reply: '{n}. {user} said {text} in {session}' });
    for (let n = 1; n <= 5; n++) expect((await ask()).response).toBe(`${n}. 5491 said hola in 5491_5491`);
    expect(agent.requests).toHaveLength(5);
    expect(agent.requests[0]?.body.new_message).toEqual({ parts: [{ text: 'hola' }] });
  });

  it('lists its app, and refuses another and an incomplete body', async () => {
    await start();
    expect(await (await fetch(`${agent.url}/list-apps`)).json()).toEqual(['test_agent']);
    const other = new HttpAgentClient({ adk: { appName: 'other' } }).sendMessage(agent.url, message);
    await expect(other).rejects.toThrow(
      `ADK agent endpoint returned 404: {"error":"Agent 'other' not found"} (apps of this server: test_agent)`,
    );
    const bare = await fetch(`${agent.url}/run`, { method: 'POST', body: '{}' });
    expect(bare.status).toBe(400);
  });

  it('runs with the command of the contract, and prints where it listens', async () => {
    await start();
    const child = spawn(
      process.execPath,
      ['tests/fixtures/adk-mock-agent.js', '0', 'by_hand', '--max', '1'],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    const url = /^listening on (http:\/\/127\.0\.0\.1:\d+)$/.exec(String(line))?.[1] ?? '';
    const client = new HttpAgentClient({ timeout: 30_000, adk: { appName: 'by_hand' } });
    expect((await client.sendMessage(url, message)).response).toBe('Echo: hola');
    expect(await client.sendMessage(url, message)).not.toHaveProperty('response');
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
});

describe('an agent that misbehaves', () => {
  it.each([
    ['bad-json', AgentProtocolError, 'the answer is not JSON'],
    ['html', AgentProtocolError, 'the answer is not JSON'],
    ['flood', AgentProtocolError, 'the answer is larger than 16777216 bytes'],
    ['never-ending', AgentTimeoutError, 'Request to agent timed out after 300ms'],
    ['hang', AgentTimeoutError, 'Request to agent timed out after 300ms'],
    ['reset', AgentUnavailableError, 'Failed to send message to ADK agent: other side closed'],
  ] as const)('ends in an error, cut off: %s', async (mode, kind, text) => {
    await start({ mode });
    const isEndless = kind === AgentTimeoutError;
    const asked = ask(isEndless ? 300 : 30_000);
    await expect(asked).rejects.toBeInstanceOf(kind);
    await expect(asked).rejects.toThrow(text);
  });

  it('is waited for when it is slow', async () => {
    await start({ mode: 'slow', pieceMs: 10 });
    expect((await ask()).response).toBe('Echo: hola');
  });

  it('is retried later when nothing listens', async () => {
    await start();
    const { url } = agent;
    await agent.close();
    const asked = new HttpAgentClient({ adk: { appName: 'test_agent' } }).sendMessage(url, message);
    await expect(asked).rejects.toBeInstanceOf(AgentUnavailableError);
    await expect(asked).rejects.toThrow(/^Failed to send message to ADK agent: connect ECONNREFUSED/);
  });
});
