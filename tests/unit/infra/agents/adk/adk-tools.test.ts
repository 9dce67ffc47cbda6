import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { AgentProtocolError } from '../../../../../router/src/core/errors.ts';
import { adkKind } from '../../../../../router/src/infra/agents/adk/adk-kind.ts';
import {
  type CheckReport,
  type ToolInput,
  ToolUsageError,
} from '../../../../../router/src/infra/agents/agent-tools.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { serverOf } from '../../../../support/abi.ts';
import { toolsOf } from '../../../../support/agent-kinds.ts';

const adkTools = toolsOf(adkKind);

interface Run {
  app: string;
  user: string;
  text: string;
}

/** A small server of the contract. `answer` writes the response to a run. */
async function anAgent(
  options: { apps?: unknown; answer?: (run: Run, response: ServerResponse) => void } = {},
): Promise<{ url: string; runs: Run[] }> {
  const runs: Run[] = [];
  const { url } = await serverOf(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.url === '/list-apps') {
      response.end(JSON.stringify(options.apps ?? ['greeter']));
      return;
    }
    if (request.url !== '/run') {
      response.writeHead(404).end('Not found');
      return;
    }
    const body = JSON.parse(Buffer.concat(chunks).toString());
    const run = { app: body.app_name, user: body.user_id, text: body.new_message.parts[0].text };
    runs.push(run);
    if (options.answer) options.answer(run, response);
    else if (run.app !== 'greeter') response.writeHead(404).end('no such agent');
    else response.end(eventsOf(`re ${run.text}`));
  });
  return { url, runs };
}

function eventsOf(text: string): string {
  return JSON.stringify([{ author: 'model', invocationId: 'e', content: { parts: [{ text }] } }]);
}

function inputOf(url: string, options: ToolInput['options'] = {}): ToolInput {
  return { url, options, timeoutMs: 5_000, transport: new AgentTransport(), clock: holdingClock };
}

describe('the tools of adk.detect', () => {
  it.each([
    [['greeter'], true],
    [[], false],
    [{ ok: true }, false],
  ])('finds an ADK server that lists %j: %s', async (apps, expected) => {
    const { url } = await anAgent({ apps });
    expect(await adkTools.detect(inputOf(url))).toBe(expected);
  });
});

describe('the tools of adk.inspect', () => {
  it('shows the agents and runs none', async () => {
    const { url, runs } = await anAgent({ apps: ['one', 'two'] });
    const { report, text, isGood } = await adkTools.inspect.run(inputOf(url));
    expect(report).toEqual({
      kind: 'adk',
      url,
      isReachable: true,
      answer: 'status 200',
      latencyMs: expect.any(Number),
      capabilities: ['agent one', 'agent two'],
      apps: ['one', 'two'],
      route: { channelId: '*', agentEndpoint: url, config: { adk: { appName: 'one' } } },
    });
    expect(text).toContain('Body for POST /api/routes:');
    expect(isGood).toBe(true);
    expect(runs).toEqual([]);
  });
});

describe('the tools of adk.test', () => {
  it('sends one message to the only agent and shows the answer', async () => {
    const { url, runs } = await anAgent();
    const { report, text } = await adkTools.test.run(inputOf(url, { message: 'hola' }));
    expect(report).toMatchObject({ appName: 'greeter', reply: 're hola', adk: { eventCount: 1 } });
    expect(text).toMatch(/^greeter, \d+ ms\nre hola$/);
    expect(runs).toMatchObject([{ app: 'greeter', text: 'hola' }]);
  });

  it('writes as another person each time', async () => {
    const { url, runs } = await anAgent();
    await adkTools.test.run(inputOf(url, { message: 'a' }));
    await adkTools.test.run(inputOf(url, { message: 'b' }));
    expect(new Set(runs.map(({ user }) => user)).size).toBe(2);
  });

  it('shows that the agent says nothing', async () => {
    const { url } = await anAgent({ answer: (_run, response) => response.end('[]') });
    const { text, report } = await adkTools.test.run(inputOf(url, { message: 'a' }));
    expect(text).toMatch(/\n\(the agent says nothing\)$/);
    expect(report).toMatchObject({ reply: undefined });
  });

  it.each([
    [{}, ['greeter'], '--message is missing'],
    [{ message: 'a' }, ['one', 'two'], '--app is missing: the name of the agent; the server has one, two'],
    [{ message: 'a' }, [], '--app is missing: the name of the agent; the server lists none'],
  ])('needs more than the options %j when the server lists %j', async (options, apps, sentence) => {
    const { url, runs } = await anAgent({ apps });
    const failed = adkTools.test.run(inputOf(url, options));
    await expect(failed).rejects.toThrow(ToolUsageError);
    await expect(failed).rejects.toThrow(sentence);
    expect(runs).toEqual([]);
  });

  it('passes on the error of the agent', async () => {
    const { url } = await anAgent({ answer: (_run, response) => response.writeHead(500).end('broken') });
    await expect(adkTools.test.run(inputOf(url, { message: 'a' }))).rejects.toThrow(AgentProtocolError);
  });
});

describe('the tools of adk.check', () => {
  const resultsOf = async (url: string, options = {}) => {
    const { report, isGood } = await adkTools.check.run(inputOf(url, options));
    const { results } = report as CheckReport;
    return { isGood, results: results.map(({ result }) => result), found: results.map(({ found }) => found) };
  };

  it('warns about an agent that says nothing and accepts any name', async () => {
    const { url } = await anAgent({ answer: (_run, response) => response.end('[]') });
    const { isGood, results } = await resultsOf(url);
    expect(results).toEqual(['pass', 'warn', 'warn', 'warn', 'warn', 'pass', 'pass']);
    expect(isGood).toBe(true);
  });

  it('ends with the first message when the agent fails it', async () => {
    const { url, runs } = await anAgent({
      answer: (_run, response) => response.writeHead(500).end('broken'),
    });
    const { isGood, results, found } = await resultsOf(url);
    expect(results).toEqual(['pass', 'fail']);
    expect(found[1]).toBe('ADK agent endpoint returned 500: broken');
    expect(isGood).toBe(false);
    expect(runs).toHaveLength(1);
  });
});
