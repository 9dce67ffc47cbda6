import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { abiKind } from '../../../../../../router/src/infra/agents/abi/abi-kind.ts';
import { ToolUsageError } from '../../../../../../router/src/infra/agents/agent-tools.ts';
import { AgentTransport } from '../../../../../../router/src/infra/agents/transport/agent-transport.ts';
import type {
  Fetched,
  FetchOptions,
} from '../../../../../../router/src/infra/agents/transport/bounded-fetch.ts';
import { toolsOf } from '../../../../../support/agent-kinds.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';

const abiTools = toolsOf(abiKind);

/** An agent without a network: healthy, and it answers each call with this body. */
class ScriptedTransport extends AgentTransport {
  requests = 0;
  readonly #health: Fetched | undefined;
  readonly #outputs: Buffer;

  constructor(outputs: Buffer, health?: Fetched) {
    super();
    this.#outputs = outputs;
    this.#health = health;
  }

  override async fetch(url: string, { method }: FetchOptions): Promise<Fetched> {
    this.requests += 1;
    const isHealth = method === 'GET' && url.endsWith('/health');
    if (isHealth && this.#health) return this.#health;
    const body = isHealth ? Buffer.from('{"methods":["sum"]}') : this.#outputs;
    return { kind: 'answer', status: 200, headers: new Headers(), body };
  }
}

async function setup(
  options: Record<string, string> & { abiText?: string },
  { outputs = Buffer.alloc(32, 0), health }: { outputs?: Buffer; health?: Fetched } = {},
) {
  const { abiText, ...rest } = options;
  const given: Record<string, string> = { ...rest };
  if (abiText !== undefined) {
    const folder = await mkdtemp(join(tmpdir(), 'wa2ai-abi-tools-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    given.abi = join(folder, 'agent.abi');
    await writeFile(given.abi, abiText);
  }
  const transport = new ScriptedTransport(outputs, health);
  return {
    transport,
    input: { url: 'http://agent', options: given, timeoutMs: 1_000, transport, clock: new FakeClock() },
  };
}

const gone: Fetched = { kind: 'fault', fault: 'not-connected', detail: { sentence: 'ECONNREFUSED' } };
const refused: Fetched = { kind: 'answer', status: 404, headers: new Headers(), body: Buffer.alloc(0) };
const abiText = 'sum() returns (uint256 total)\nother()';

describe('the tools for ABI agents', () => {
  it('detect an agent by its answer to /health', async () => {
    const found = async (health?: Fetched) => {
      const { input } = await setup({}, health ? { health } : {});
      return abiTools.detect(input);
    };
    expect(await found()).toBe(true);
    expect(await found(refused)).toBe(false);
    expect(await found(gone)).toBe(false);
  });

  it('show a call with its selector, its calldata and the reply', async () => {
    const { input } = await setup({ abiText, method: 'sum' });
    const { text, isGood } = await abiTools.test.run(input);
    expect(text).toMatch(/^sum\(\) 0x[0-9a-f]{8}, \d+ ms\ncalldata 0x[0-9a-f]{8}\n0$/);
    expect(isGood).toBe(true);
    const silent = await setup({ abiText, method: 'other' });
    expect((await abiTools.test.run(silent.input)).text).toMatch(/\n\(no outputs\)$/);
  });

  it('show the functions of the ABI and those that /health does not list', async () => {
    const { input } = await setup({ abiText });
    expect((await abiTools.inspect.run(input)).text.split('\n').slice(0, 7)).toEqual([
      'http://agent',
      'kind          abi',
      expect.stringMatching(/^answer {8}status 200, \d+ ms$/),
      'capabilities  function sum',
      'envelope      raw',
      expect.stringMatching(/^0x[0-9a-f]{8} {2}sum\(\)$/),
      expect.stringMatching(/^0x[0-9a-f]{8} {2}other\(\) {2}\(not listed by \/health\)$/),
    ]);
  });

  it('inspect an agent without an ABI, also one that is not there', async () => {
    const { input } = await setup({}, { health: gone });
    const { text, isGood } = await abiTools.inspect.run(input);
    expect(text).toMatch(
      /^http:\/\/agent\nkind +abi\nanswer +ECONNREFUSED, \d+ ms\ncapabilities +\(none listed\)\nenvelope +\(not reachable\)$/,
    );
    expect(isGood).toBe(false);
  });

  it('report a check that fails', async () => {
    const { input, transport } = await setup({ abiText }, { health: gone });
    const { text, isGood } = await abiTools.check.run(input);
    expect(isGood).toBe(false);
    expect(text).toMatch(/^FAIL .* \(no other check ran\)\n1 of 1 checks failed\.$/);
    expect(transport.requests).toBe(1);
  });

  it.each([
    ['test', { abiText }, '--method is missing: the function to call'],
    ['test', { method: 'sum' }, '--abi is missing: a file with the ABI or the signatures'],
    ['check', {}, '--abi is missing: a file with the ABI or the signatures'],
    ['inspect', { envelope: 'auto' }, '--envelope must be raw or json'],
    ['check', { abiText, envelope: 'RAW' }, '--envelope must be raw or json'],
  ] as const)('refuse %s with the options %j before any request', async (tool, options, sentence) => {
    const { input, transport } = await setup({ ...options });
    const error = await abiTools[tool].run(input).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ToolUsageError);
    expect((error as Error).message).toBe(sentence);
    expect(transport.requests).toBe(0);
  });
});
