import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Abi, decodeFunctionResult, encodeFunctionData, encodeFunctionResult, parseAbi } from 'viem';
import type { IncomingMessage } from '../../router/src/core/models.ts';
import { AbiAgentClient } from '../../router/src/infra/agents/abi/abi-agent-client.ts';
import { decodeValues } from '../../router/src/infra/agents/abi/codec/abi-decode.ts';
import {
  createAbi,
  encodeCall,
  findFunction,
} from '../../router/src/infra/agents/abi/codec/abi-signature.ts';
import type { AbiValue } from '../../router/src/infra/agents/abi/codec/abi-type.ts';
import { Manifests } from '../../router/src/infra/agents/abi/input/manifests.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../router/src/infra/clock/system-clock.ts';
import { repositoryRoot } from '../support/repository.ts';
import { quantile } from './statistics.ts';

const ROUNDS = 5;
const ROUND_MS = 250;
const TRIPS = 1_000;

const signatures = [
  'function greet(string name) returns (string greeting)',
  'function add(uint256 a, uint256 b) returns (uint256 sum)',
  'function sumArray(uint256[] numbers) returns (uint256 total)',
  'function processUser((string name, uint256 age) user) returns (string greeting)',
  'function analyze(bytes data) returns (bytes32 hash, uint256 size, bool valid)',
];

/** A call of each function: arguments and outputs in the forms of wa2ai and viem. */
const calls: Array<{ name: string; values: AbiValue[]; args: unknown[]; result: unknown }> = [
  { name: 'greet', values: ['Alice'], args: ['Alice'], result: 'Hello, Alice!' },
  { name: 'add', values: [2n, 40n], args: [2n, 40n], result: 42n },
  { name: 'sumArray', values: [eight()], args: [eight()], result: 28n },
  {
    name: 'processUser',
    values: [['Ann', 30n]],
    args: [{ name: 'Ann', age: 30n }],
    result: 'Hello Ann, age 30!',
  },
  { name: 'analyze', values: [bytes(200)], args: [bytes(200)], result: [bytes(32), 200n, true] },
];

function eight(): bigint[] {
  return Array.from({ length: 8 }, (_, index) => BigInt(index));
}

function bytes(length: number): `0x${string}` {
  return `0x${'ab'.repeat(length)}`;
}

/** `npm run bench -- --abi`: the codec compared with viem, and the overhead of the client over fetch. */
export async function benchAbi(): Promise<void> {
  const abi = await createAbi(signatures);
  const viemAbi: Abi = parseAbi(signatures);
  const load = loadavg()[0]?.toFixed(1);
  console.log(`Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model}, load ${load}`);
  console.log('encode + decode per second   wa2ai      viem');
  for (const { name, values, args, result } of calls) {
    const target = findFunction(abi, name);
    const answer = Buffer.from(
      encodeFunctionResult({ abi: viemAbi, functionName: name, result }).slice(2),
      'hex',
    );
    const own = () => {
      encodeCall(abi, target, values);
      decodeValues(target.outputs, answer, abi.codec);
    };
    const bare = () => {
      Buffer.from(encodeFunctionData({ abi: viemAbi, functionName: name, args }).slice(2), 'hex');
      decodeFunctionResult({ abi: viemAbi, functionName: name, data: `0x${answer.toString('hex')}` });
    };
    const best = { own: 0, bare: 0 };
    for (let round = 0; round < ROUNDS; round += 1) {
      best.own = Math.max(best.own, perSecond(own));
      best.bare = Math.max(best.bare, perSecond(bare));
    }
    const ratio = (best.own / best.bare).toFixed(2);
    console.log(
      `${name.padEnd(22)} ${cell(best.own)} ${cell(best.bare)}   ${ratio}x (target: at least 0.8x)`,
    );
  }
  await roundTrips();
}

function perSecond(work: () => void): number {
  const startMs = performance.now();
  let done = 0;
  while (performance.now() - startMs < ROUND_MS) {
    for (let index = 0; index < 50; index += 1) work();
    done += 50;
  }
  return (done * 1_000) / (performance.now() - startMs);
}

/** Alternating calls of one agent, so that both sides run under the same load. */
async function roundTrips(): Promise<void> {
  const { child, url } = await startAgent();
  const transport = new AgentTransport();
  const manifests = new Manifests(holdingClock, transport);
  const client = new AbiAgentClient({
    abi: { functions: signatures },
    clock: holdingClock,
    transport,
    manifests,
  });
  const message: IncomingMessage = {
    id: '3EB0ABC',
    from: '34600111222@s.whatsapp.net',
    channelId: '34600111222',
    text: '/add 2 40',
    timestamp: new Date(),
  };
  const abi = await createAbi(signatures);
  const calldata = new Uint8Array(encodeCall(abi, findFunction(abi, 'add'), [2n, 40n]));
  const headers = { 'content-type': 'application/octet-stream' };
  const bareMs: number[] = [];
  const ownMs: number[] = [];
  for (let trip = -100; trip < TRIPS; trip += 1) {
    const bare = await timed(async () => {
      await (await fetch(url, { method: 'POST', headers, body: calldata })).arrayBuffer();
    });
    const own = await timed(() => client.sendMessage(url, message));
    if (trip < 0) continue;
    bareMs.push(bare);
    ownMs.push(own);
  }
  const [bare, own] = [quantile(bareMs, 0.5), quantile(ownMs, 0.5)];
  console.log(
    `round trip, median of ${TRIPS}: bare fetch ${bare.toFixed(2)} ms, ABI client ${own.toFixed(2)} ms, +${(own - bare).toFixed(2)} ms (target: under 1 ms)`,
  );
  const ended = once(child, 'exit');
  child.kill();
  await ended;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

async function startAgent(): Promise<{ child: ChildProcess; url: string }> {
  const file = join(repositoryRoot, 'tests/fixtures/abi-mock-agent.js');
  const child = spawn(process.execPath, [file, '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const url = /listening on (\S+)/.exec(String(line))?.[1];
  if (!url) throw new Error(`the mock agent said something else than where it listens: ${line}`);
  return { child, url };
}

function cell(perSecondValue: number): string {
  return Math.round(perSecondValue).toLocaleString('en').padStart(9);
}
