import { beforeEach, describe, expect, it } from 'vitest';
import { NodeCalls, nodeCall } from '../../../../router/src/core/cluster/node-bus.ts';
import { Wa2aiError } from '../../../../router/src/core/errors.ts';
import { MemoryNodeHub } from '../../../doubles/memory-node-hub.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';

let hub: MemoryNodeHub;
let clock: FakeClock;
let n1: NodeCalls;
let n2: NodeCalls;

function node(nodeId: string): NodeCalls {
  let calls = 0;
  return new NodeCalls({ bus: hub.connect(nodeId), clock, newId: () => `${nodeId}-${++calls}` });
}

beforeEach(() => {
  hub = new MemoryNodeHub();
  clock = new FakeClock();
  [n1, n2] = [node('n1'), node('n2')];
});

describe('a call to another node', () => {
  it('returns what the method of that node returns', async () => {
    node('n3').serve('double', async () => 'wrong node');
    n2.serve('double', async (args) => (args as { n: number }).n * 2);
    expect(await n1.call('n2', 'double', { n: 21 }, 1_000)).toEqual({ value: 42 });
    n2.serve('nothing', async () => undefined);
    expect(await n1.call('n2', 'nothing', {}, 1_000)).toEqual({ value: undefined });
  });

  it('carries texts that are larger than a message, whatever they contain', async () => {
    const text = '“a”\\\n\u0000😀'.repeat(20_000);
    n2.serve('echo', async (args) => args);
    expect(await n1.call('n2', 'echo', { text }, 1_000)).toEqual({ value: { text } });
    const sizes = hub.published.map((json) => Buffer.byteLength(json));
    expect(Math.max(...sizes)).toBeLessThan(8_000);
  });

  it('refuses what is too large, in both directions', async () => {
    const text = 'x'.repeat(2_000_000);
    n2.serve('large', async () => text);
    for (const args of [{}, { text }]) {
      await expect(n1.call('n2', 'large', args, 1_000)).rejects.toMatchObject({
        code: 'TOO_LARGE_FOR_NODE',
        disposition: 'dead',
      });
    }
  });

  it('throws what the method threw, without the text of an unknown error', async () => {
    n2.serve('fail', async () => {
      throw new Wa2aiError('AWAY', 'retry', { sentence: 'The agent is away.' });
    });
    await expect(n1.call('n2', 'fail', {}, 1_000)).rejects.toMatchObject({
      code: 'AWAY',
      disposition: 'retry',
      message: 'The agent is away.',
    });
    n2.serve('fail', async () => {
      throw new TypeError('secret');
    });
    await expect(n1.call('n2', 'fail', {}, 1_000)).rejects.toMatchObject({
      code: 'INTERNAL',
      message: expect.not.stringContaining('secret'),
    });
  });

  it('has no result when it was lost, or when nobody knows the method', async () => {
    n2.serve('known', async () => 1);
    for (const [method, isMute] of [
      ['known', true],
      ['unknown', false],
    ] as const) {
      hub.isMute = isMute;
      const result = n1.call('n2', method, {}, 5_000);
      await settle();
      await clock.advanceMs(5_000);
      expect(await result).toBeUndefined();
    }
  });

  it('forgets the oldest of many calls of which a part was lost', async () => {
    const bus = hub.connect('n4');
    let runs = 0;
    n2.serve('count', async () => {
      runs += 1;
    });
    const text = Buffer.from(JSON.stringify({ method: 'count', args: {} })).toString('base64');
    const half = Math.ceil(text.length / 2);
    const part = (id: string, number: number) =>
      bus.publish(
        nodeCall({
          to: 'n2',
          id,
          number,
          of: 2,
          text: number === 0 ? text.slice(0, half) : text.slice(half),
        }),
      );
    for (let id = 0; id <= 100; id += 1) part(`lost-${id}`, 0);
    part('lost-0', 1);
    part('lost-100', 1);
    await settle();
    expect(runs).toBe(1);
  });
});
