import { describe, expect, it } from 'vitest';
import { AgentProtocolError, AgentUnavailableError } from '../../../../../../router/src/core/errors.ts';
import { Manifests } from '../../../../../../router/src/infra/agents/abi/input/manifests.ts';
import { AgentTransport } from '../../../../../../router/src/infra/agents/transport/agent-transport.ts';
import type { Fetched } from '../../../../../../router/src/infra/agents/transport/bounded-fetch.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';

const MINUTE_MS = 60_000;
const URL = 'http://agent/abi.json';

const answer = (status: number, body: string): Fetched => ({
  kind: 'answer',
  status,
  headers: new Headers(),
  body: Buffer.from(body),
});
const fault = (reason: (Fetched & { kind: 'fault' })['fault']): Fetched => ({
  kind: 'fault',
  fault: reason,
  detail: { sentence: 'why' },
});

/** A transport without a network, which counts its requests. */
class ScriptedTransport extends AgentTransport {
  next: Promise<Fetched> | Fetched = answer(200, '["f()"]');
  readonly urls: string[] = [];

  override async fetch(url: string): Promise<Fetched> {
    this.urls.push(url);
    return await this.next;
  }
}

function setup() {
  const clock = new FakeClock();
  const transport = new ScriptedTransport();
  const manifests = new Manifests(clock, transport);
  const entries = (signal = new AbortController().signal, url = URL) => manifests.entriesOf(url, signal);
  return { clock, transport, entries };
}

/** An answer that a test gives later. */
function later() {
  let give: (fetched: Fetched) => void = () => undefined;
  const promise = new Promise<Fetched>((resolve) => {
    give = resolve;
  });
  return { promise, give };
}

describe('a cached manifest', () => {
  it('is the same array for five minutes, then a new one', async () => {
    const { clock, transport, entries } = setup();
    const first = await entries();
    await clock.advanceMs(5 * MINUTE_MS - 1);
    expect(await entries()).toBe(first);
    expect(transport.urls).toHaveLength(1);
    await clock.advanceMs(1);
    expect(await entries()).not.toBe(first);
    expect(transport.urls).toHaveLength(2);
  });

  it('is used for another 30 seconds after a failed fetch', async () => {
    const { clock, transport, entries } = setup();
    const first = await entries();
    transport.next = fault('not-connected');
    await clock.advanceMs(5 * MINUTE_MS);
    expect(await entries()).toBe(first);
    await clock.advanceMs(29_999);
    expect(await entries()).toBe(first);
    expect(transport.urls).toHaveLength(2);
    await clock.advanceMs(1);
    expect(await entries()).toBe(first);
    expect(transport.urls).toHaveLength(3);
  });

  it('is not used when its server answers with something that is no ABI', async () => {
    const { clock, transport, entries } = setup();
    await entries();
    await clock.advanceMs(5 * MINUTE_MS);
    transport.next = answer(404, '');
    await expect(entries()).rejects.toThrow(AgentProtocolError);
  });

  it('is one for each URL', async () => {
    const { transport, entries } = setup();
    await entries();
    await entries(undefined, 'http://other/abi.json');
    expect(transport.urls).toEqual([URL, 'http://other/abi.json']);
  });
});

describe('a fetch of a manifest', () => {
  it('is shared by callers at the same time, and repeated after it failed', async () => {
    const { transport, entries } = setup();
    const { promise, give } = later();
    transport.next = promise;
    const both = Promise.allSettled([entries(), entries()]);
    give(answer(503, ''));
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(transport.urls).toHaveLength(1);
    transport.next = answer(200, '["f()"]');
    expect(await entries()).toEqual(['f()']);
  });

  it('continues for the others when one caller aborts', async () => {
    const { transport, entries } = setup();
    const { promise, give } = later();
    transport.next = promise;
    const caller = new AbortController();
    const [aborted, patient] = [entries(caller.signal), entries()];
    caller.abort();
    await expect(aborted).rejects.toThrow("The ABI agent's manifest did not arrive in time.");
    await expect(aborted).rejects.toThrow(AgentUnavailableError);
    give(answer(200, '["f()"]'));
    expect(await patient).toEqual(['f()']);
    expect(transport.urls).toHaveLength(1);
  });
});

describe('a manifest that cannot be had', () => {
  it.each([
    ['not-connected', 'retry', true],
    ['no-answer', 'retry', false],
    ['broken', 'retry', false],
    ['aborted', 'retry', false],
    ['too-large', 'dead', undefined],
    ['refused', 'dead', undefined],
  ] as const)('because of the fault %s has the disposition %s', async (reason, disposition, isAway) => {
    const { transport, entries } = setup();
    transport.next = fault(reason);
    const error = await entries().catch((caught: unknown) => caught);
    expect(error).toMatchObject({ disposition, ...(isAway !== undefined && { isAway }) });
    if (reason === 'refused') expect(error).toMatchObject({ code: 'AGENT_ADDRESS_REFUSED' });
  });

  it.each([
    [429, 'retry', true],
    [502, 'retry', true],
    [503, 'retry', true],
    [500, 'retry', false],
    [504, 'retry', false],
    [204, 'dead', undefined],
    [301, 'dead', undefined],
    [403, 'dead', undefined],
  ])('because of the status %i has the disposition %s', async (status, disposition, isAway) => {
    const { transport, entries } = setup();
    transport.next = answer(status, '["f()"]');
    const error = await entries().catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      message: `The ABI agent's manifest cannot be fetched: status ${status}.`,
      disposition,
      ...(isAway !== undefined && { isAway }),
    });
  });

  it.each([
    ['', 'is not JSON.'],
    ['\ufeff["f()"', 'is not JSON.'],
    ['{"abi": {}}', 'contains no ABI'],
    ['null', 'contains no ABI'],
  ])('because its body is %j', async (body, sentence) => {
    const { transport, entries } = setup();
    transport.next = answer(200, body);
    await expect(entries()).rejects.toThrow(sentence);
  });
});
