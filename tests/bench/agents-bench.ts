import { createAgentClients } from '../../router/src/infra/agents/agent-clients.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../router/src/infra/clock/system-clock.ts';
import type { StandInRequest, StandInServer } from '../doubles/stand-in-server.ts';
import { AGENT_KIND_SUBJECTS, type AgentKindSubject } from '../support/agent-kind-subjects.ts';
import { quietLog } from '../support/quiet-log.ts';
import { aRoute } from '../support/routes.ts';
import { quantile } from './statistics.ts';

const ROUNDS = 6;
/** Of each kind in a round. */
const TRIPS = 250;
/** What a client may add to the median round trip, in milliseconds. */
const TARGET_MS = 2;
const FORBIDDEN = /^(?:host|connection|content-length|transfer-encoding|keep-alive|accept-encoding)$/;

/** One round trip of a kind by its client, and by fetch with the same request. */
interface Trips {
  name: string;
  own(): Promise<void>;
  bare(): Promise<void>;
  close(): Promise<void>;
}

/**
 * `npm run bench -- --agents`: what the client of each agent kind adds to a round trip, beside fetch with the same request,
 * turn by turn, to a server in the same process. The best of several rounds counts, because other programs use the machine.
 * @returns whether every kind is within the target
 */
export async function benchAgents(): Promise<boolean> {
  const kinds = await Promise.all(AGENT_KIND_SUBJECTS.map(tripsOf));
  const best = new Map<string, { own: number; bare: number }>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const trips of kinds) {
      const found = await measure(trips);
      const known = best.get(trips.name);
      if (!known || found.own - found.bare < known.own - known.bare) best.set(trips.name, found);
    }
  }
  console.log(`median round trip     wa2ai  bare fetch       added (target < ${TARGET_MS} ms)`);
  for (const [name, { own, bare }] of best) {
    const columns = [own, bare, own - bare].map((ms) => `${ms.toFixed(2)} ms`.padStart(12));
    console.log(`${name.padEnd(15)}${columns.join('')}`);
  }
  for (const { close } of kinds) await close();
  return [...best.values()].every(({ own, bare }) => own - bare < TARGET_MS);
}

async function tripsOf({ name, settings, start }: AgentKindSubject): Promise<Trips> {
  const server = await start();
  const clients = createAgentClients({
    defaultTimeoutMs: 30_000,
    log: quietLog,
    clock: holdingClock,
    transport: new AgentTransport(),
  });
  const agent = { kind: name, settings };
  const client = clients.clientFor(aRoute({ agentEndpoint: server.url, config: { agent } }));
  let sent = 0;
  const own = async () => {
    sent += 1;
    const id = `3EB0${sent}`;
    const message = { from: '5491@s.whatsapp.net', channelId: '5491', text: 'hello', timestamp: new Date(0) };
    await client.sendMessage(server.url, { id, ...message }, { replyToken: async () => 'token' });
  };
  await own();
  await own();
  const { method, path, headers, bytes } = lastPost(server);
  const given = Object.entries(headers).flatMap(
    ([key, value]): Array<[string, string]> =>
      typeof value === 'string' && !FORBIDDEN.test(key) ? [[key, value]] : [],
  );
  const bare = async () => {
    await (await fetch(server.url + path, { method, headers: given, body: bytes })).arrayBuffer();
  };
  return { name, own, bare, close: () => server.close() };
}

async function measure({ own, bare }: Trips): Promise<{ own: number; bare: number }> {
  const times = { own: [] as number[], bare: [] as number[] };
  for (let trip = 0; trip < TRIPS; trip++) {
    times.own.push(await timed(own));
    times.bare.push(await timed(bare));
  }
  return { own: quantile(times.own, 0.5), bare: quantile(times.bare, 0.5) };
}

function lastPost({ requests }: StandInServer): StandInRequest {
  const request = requests.findLast(({ method }) => method === 'POST');
  if (!request) throw new Error('the client sent no request');
  return request;
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}
