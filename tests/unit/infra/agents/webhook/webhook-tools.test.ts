import { afterEach, describe, expect, it } from 'vitest';
import {
  type CheckReport,
  type ToolInput,
  ToolUsageError,
} from '../../../../../router/src/infra/agents/agent-tools.ts';
import { AgentTransport } from '../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { webhookKind } from '../../../../../router/src/infra/agents/webhook/webhook-kind.ts';
import { holdingClock } from '../../../../../router/src/infra/clock/system-clock.ts';
import { StandInServer } from '../../../../doubles/stand-in-server.ts';
import { startWebhookServer, type WebhookStandInOptions } from '../../../../doubles/webhook-server.ts';
import { toolsOf } from '../../../../support/agent-kinds.ts';

const webhookTools = toolsOf(webhookKind);

let server: StandInServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function setup(given: WebhookStandInOptions = {}, options: Record<string, string> = {}) {
  server = await startWebhookServer(given);
  return { server, input: inputOf(server.url, options) };
}

function inputOf(url: string, options: Record<string, string> = {}): ToolInput {
  return { url, options, timeoutMs: 5_000, transport: new AgentTransport(), clock: holdingClock };
}

describe('the tools of webhook', () => {
  it.each([
    [200, true],
    [401, true],
    [405, true],
    [501, true],
    [404, false],
    [410, false],
    [502, false],
  ])('take a server that answers %i for a webhook: %s', async (status, isFound) => {
    server = await StandInServer.start(() => ({ status }));
    expect(await webhookTools.detect(inputOf(server.url))).toBe(isFound);
  });

  it('test with one signed message and one header', async () => {
    const { server, input } = await setup(
      { secret: 'a-secret-key' },
      { message: 'hola', secret: 'a-secret-key', header: 'X-Key: a b' },
    );
    const { report, text } = await webhookTools.test.run(input);
    expect(report).toMatchObject({ reply: 'Echo: hola', webhook: { status: 200 } });
    expect(text).toMatch(/^\d+ ms\nEcho: hola$/);
    expect(server.requests[0]?.headers['x-key']).toBe('a b');
  });

  it.each([
    [{ status: 202 }, '(the answer comes later)'],
    [{ body: '' }, '(the agent says nothing)'],
    [{ headers: { 'content-type': 'image/png' }, body: 'png' }, '[image/png]'],
  ])('test shows the answer %j', async (answer, shown) => {
    const { input } = await setup({ answer: () => answer }, { message: 'hola' });
    expect((await webhookTools.test.run(input)).text.split('\n')[1]).toBe(shown);
  });

  it('refuse wrong options', async () => {
    await expect(webhookTools.test.run(inputOf('http://127.0.0.1:9'))).rejects.toThrow(ToolUsageError);
    const input = inputOf('http://127.0.0.1:9', { message: 'hola', header: 'no colon' });
    await expect(webhookTools.test.run(input)).rejects.toThrow("--header must be written as 'Name: value'");
  });

  it('check a webhook that answers and knows its secret', async () => {
    const { input } = await setup({ secret: 'a-secret-key' }, { secret: 'a-secret-key' });
    const { report, isGood } = await webhookTools.check.run(input);
    const { results } = report as CheckReport;
    expect(results.map(({ result }) => result)).toEqual(['pass', 'pass', 'pass', 'pass', 'pass']);
    expect(isGood).toBe(true);
  });

  it('check warns about a webhook that ignores the signature, or answers later', async () => {
    const ignoring = await webhookTools.check.run((await setup({}, { secret: 'a-secret-key' })).input);
    expect((ignoring.report as CheckReport).results[2]).toMatchObject({ result: 'warn' });
    await server?.close();
    const later = await webhookTools.check.run((await setup({ answer: () => ({ status: 202 }) })).input);
    expect((later.report as CheckReport).results[1]).toMatchObject({ result: 'warn' });
  });

  it('check stops at an address where nothing answers, and at a webhook that fails', async () => {
    const gone = await webhookTools.check.run(inputOf('http://127.0.0.1:9'));
    expect((gone.report as CheckReport).results).toMatchObject([{ result: 'fail' }]);
    const { input } = await setup({ answer: () => ({ status: 500 }) });
    const failing = await webhookTools.check.run(input);
    expect((failing.report as CheckReport).results.map(({ result }) => result)).toEqual(['pass', 'fail']);
  });
});
