import { createAgentClients } from '../../router/src/infra/agents/agent-clients.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../router/src/infra/clock/system-clock.ts';
import type { StandInRequest, StandInServer } from '../doubles/stand-in-server.ts';
import { AGENT_KIND_SUBJECTS, type AgentKindSubject } from '../support/agent-kind-subjects.ts';
import { quietLog } from '../support/quiet-log.ts';
import { aRoute } from '../support/routes.ts';
import type { AgentsResults, Pair } from './agents-report.ts';
import { fanOutMs, opensPerSecond, startBareServer, startNpcFace } from './faces-bench.ts';
import { withGround } from './ground.ts';
import { median } from './statistics.ts';

/** Of each kind in a round. */
const TRIPS = 150;
const FORBIDDEN = /^(?:host|connection|content-length|transfer-encoding|keep-alive|accept-encoding)$/;

/** What the rounds measured at one face. */
interface Found {
  opens: number[];
  fanOut: number[];
}

/** Kinds that wa2ai runs itself: `npm run bench -- --host` measures them. */
const MEASURED_BY_HOST = ['hosted', 'shell'];

/** One round trip of a kind by its client, and by fetch with the same request. */
interface Trips {
  name: string;
  own(): Promise<void>;
  bare(): Promise<void>;
  close(): Promise<void>;
}

/**
 * `npm run bench -- --agents`: what the client of each agent kind adds to a round trip, beside fetch with the same request,
 * turn by turn, to a server in the same process; and the NPC face beside a bare server of Express and the official A2A SDK.
 * Medians of several rounds, in which wa2ai and its references alternate.
 */
export async function benchAgents(rounds: number): Promise<AgentsResults> {
  const subjects = AGENT_KIND_SUBJECTS.filter(({ name }) => !MEASURED_BY_HOST.includes(name));
  const kinds = await Promise.all(subjects.map(tripsOf));
  const trips = new Map<string, Array<{ own: number; bare: number }>>();
  for (let round = 0; round < rounds; round++) {
    for (const kind of kinds) trips.set(kind.name, [...(trips.get(kind.name) ?? []), await measure(kind)]);
  }
  for (const { close } of kinds) await close();
  const faces = await benchFaces(rounds);
  const ofKinds = [...trips].map(([name, measured]) => [
    name,
    {
      wa2ai: median(measured.map(({ own }) => own)),
      bare: median(measured.map(({ bare }) => bare)),
      added: median(measured.map(({ own, bare }) => own - bare)),
    },
  ]);
  return { kinds: Object.fromEntries(ofKinds), ...faces };
}

async function benchFaces(rounds: number): Promise<Pick<AgentsResults, 'opens' | 'fanOut'>> {
  const measured = { npc: { opens: [], fanOut: [] } as Found, bare: { opens: [], fanOut: [] } as Found };
  await withGround(async (ground) => {
    const faces = [
      { found: measured.npc, face: await startNpcFace(ground) },
      { found: measured.bare, face: await startBareServer() },
    ];
    try {
      // The first round warms up.
      for (let round = 0; round <= rounds; round++) {
        for (const { found, face } of faces) {
          const [opens, fanOut] = [await opensPerSecond(face), await fanOutMs(face)];
          if (round === 0) continue;
          found.opens.push(opens);
          found.fanOut.push(fanOut);
        }
      }
    } finally {
      for (const { face } of faces) await face.close();
    }
  });
  const pair = (name: keyof Found): Pair => ({
    wa2ai: median(measured.npc[name]),
    bare: median(measured.bare[name]),
  });
  return { opens: pair('opens'), fanOut: pair('fanOut') };
}

async function tripsOf({ name, settings, start }: AgentKindSubject): Promise<Trips> {
  const server = await start();
  const clients = createAgentClients({
    defaultTimeoutMs: () => 30_000,
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
  return { own: median(times.own), bare: median(times.bare) };
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
