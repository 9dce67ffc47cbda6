import { describe, expect, it } from 'vitest';
import { KeyedQueue } from '../../../router/src/core/keyed-queue.ts';
import { settle } from '../../support/fake-clock.ts';

function setup() {
  const queue = new KeyedQueue();
  const started: string[] = [];
  const ends = new Map<string, (error?: Error) => void>();
  const run = (key: string, name: string) =>
    queue.run(key, () => {
      started.push(name);
      return new Promise<string>((resolve, reject) => {
        ends.set(name, (error) => (error ? reject(error) : resolve(name)));
      });
    });
  return { queue, started, run, end: (name: string, error?: Error) => ends.get(name)?.(error) };
}

describe('KeyedQueue', () => {
  it('runs work of one key in the order of calls, and other keys in parallel', async () => {
    const { started, run, end } = setup();
    const first = run('a', 'a1');
    void run('a', 'a2');
    void run('b', 'b1');
    await settle();
    expect(started).toEqual(['a1', 'b1']);
    end('a1');
    expect(await first).toBe('a1');
    await settle();
    expect(started).toEqual(['a1', 'b1', 'a2']);
  });

  it('continues after work that failed, and rejects only its own call', async () => {
    const { started, run, end } = setup();
    const first = run('a', 'a1');
    const second = run('a', 'a2');
    await settle();
    end('a1', new Error('no'));
    await expect(first).rejects.toThrow('no');
    await settle();
    end('a2');
    expect(await second).toBe('a2');
    expect(started).toEqual(['a1', 'a2']);
  });

  it('is idle when all work has ended', async () => {
    const { queue, run, end } = setup();
    await queue.idle();
    void run('a', 'a1').catch(() => undefined);
    let isIdle = false;
    const idle = queue.idle().then(() => {
      isIdle = true;
    });
    await settle();
    expect(isIdle).toBe(false);
    end('a1', new Error('no'));
    await idle;
  });
});
