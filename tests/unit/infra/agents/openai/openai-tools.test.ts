import { afterEach, describe, expect, it } from 'vitest';
import {
  type CheckReport,
  type ToolInput,
  ToolkitError,
  ToolUsageError,
} from '../../../../../router/src/infra/agents/agent-tools.ts';
import { openAiKind } from '../../../../../router/src/infra/agents/openai/openai-kind.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { type OpenAiStandInOptions, startOpenAiServer } from '../../../../doubles/openai-server.ts';
import type { StandInServer } from '../../../../doubles/stand-in-server.ts';
import { toolsOf } from '../../../../support/agent-kinds.ts';

const openAiTools = toolsOf(openAiKind);

let server: StandInServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function setup(given: OpenAiStandInOptions = {}, options: Record<string, string> = {}) {
  server = await startOpenAiServer(given);
  return { server, input: inputOf(server.url, options) };
}

function inputOf(url: string, options: Record<string, string> = {}): ToolInput {
  return { url, options, timeoutMs: 5_000, transport: new AgentTransport(), clock: holdingClock };
}

describe('the tools of openai', () => {
  it('detect a server by its list of models, also without a key', async () => {
    const { server, input } = await setup({ apiKey: 'sk-1' });
    expect(await openAiTools.detect(input)).toBe(true);
    expect(server.requests.map(({ method }) => method)).toEqual(['GET']);
    expect(await openAiTools.detect(inputOf('http://127.0.0.1:9'))).toBe(false);
  });

  it('inspect a server: models, and the body of a route, without the key', async () => {
    const { input } = await setup({ models: ['one', 'two'], apiKey: 'sk-1' }, { key: 'sk-1' });
    const { report, text, isGood } = await openAiTools.inspect.run(input);
    expect(isGood).toBe(true);
    expect(report).toEqual({
      kind: 'openai',
      url: input.url,
      isReachable: true,
      answer: 'status 200',
      latencyMs: expect.any(Number),
      capabilities: ['text', 'conversation', 'model one', 'model two'],
      models: ['one', 'two'],
      route: {
        channelId: '*',
        agentEndpoint: input.url,
        config: { openai: { model: 'one', apiKey: '<the API key>' } },
      },
    });
    expect(text).toContain('Body for POST /api/routes:');
  });

  it('test the only model with one message', async () => {
    const { input } = await setup({}, { message: 'hola' });
    const { report, text } = await openAiTools.test.run(input);
    expect(report).toMatchObject({ model: 'gpt-test', reply: 'Echo: hola' });
    expect(text).toMatch(/^gpt-test, \d+ ms\nEcho: hola$/);
  });

  it('need the message, and the model when there are several', async () => {
    await expect(openAiTools.test.run((await setup()).input)).rejects.toThrow(ToolUsageError);
    await server?.close();
    const { input } = await setup({ models: ['one', 'two'] }, { message: 'hola' });
    await expect(openAiTools.test.run(input)).rejects.toThrow(/--model is missing.*one, two/);
    const gone = inputOf('http://127.0.0.1:9', { message: 'hola' });
    await expect(openAiTools.test.run(gone)).rejects.toThrow(ToolkitError);
  });

  it('check a server that answers', async () => {
    const { report, text, isGood } = await openAiTools.check.run((await setup()).input);
    const { results } = report as CheckReport;
    expect(results.map(({ result }) => result)).toEqual(['pass', 'pass', 'pass', 'pass', 'pass', 'pass']);
    expect(isGood).toBe(true);
    expect(text).toContain('The agent conforms.');
  });

  it('check says what is wrong', async () => {
    const denied = await openAiTools.check.run(
      (await setup({ apiKey: 'sk-1' }, { model: 'gpt-test' })).input,
    );
    expect(denied.isGood).toBe(false);
    expect((denied.report as CheckReport).results).toMatchObject([
      { result: 'fail', found: 'status 401: give --key' },
      { check: 'a new person gets an answer', result: 'fail' },
    ]);
    const gone = await openAiTools.check.run(inputOf('http://127.0.0.1:9'));
    expect((gone.report as CheckReport).results).toMatchObject([
      { result: 'fail', found: expect.stringContaining('no other check ran') },
    ]);
  });
});
