import { Cluster } from './cluster.ts';
import type { BenchGround } from './ground.ts';
import { median } from './statistics.ts';

/** Rounds in which the owner of an account is killed or paused. */
export interface TakeOvers {
  median: number;
  least: number;
  most: number;
}

const NAMES = ['n1', 'n2', 'n3'];
const LATEST_MS = 120_000;

/**
 * From the signal to the moment at which another node's connection to WhatsApp is live, in milliseconds. The nodes are
 * with default settings; a paused one is ended and started again for the next round.
 */
export async function takeOvers(
  ground: BenchGround,
  signal: 'SIGKILL' | 'SIGSTOP',
  rounds: number,
): Promise<TakeOvers> {
  const cluster = await Cluster.start(ground, { names: NAMES, accounts: 1 });
  const { nodes } = cluster;
  const tookMs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const owner = await nodes.untilOwned();
    const live = ground.emulator.waitFor('live', undefined, LATEST_MS);
    const signalledAtMs = performance.now();
    process.kill(nodes.node(owner).pid, signal);
    await live;
    tookMs.push(performance.now() - signalledAtMs);
    await nodes.end(owner, 'SIGKILL');
    await nodes.add(owner);
    await nodes.untilOpen();
  }
  await cluster.stop();
  return { median: median(tookMs), least: Math.min(...tookMs), most: Math.max(...tookMs) };
}
