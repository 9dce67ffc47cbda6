import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type DisturbanceReport, type DisturbNodesOptions, disturbNodes } from '../crash/disturb-nodes.ts';
import { runTrial, type Trial, type TrialOptions } from '../crash/trial.ts';
import { BreakablePostgres } from '../support/breakable-postgres.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import type { Nodes } from '../support/nodes.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { WriteAudit } from '../support/write-audit.ts';

const NAMES = ['n1', 'n2', 'n3'];
/** Fewer messages than people write in any of these tests. */
const MESSAGES = 100;
const TIMEOUT = { timeout: 420_000 };
const AGENT_AWAY_MS = 60_000;
const POSTGRES_AWAY_MS = 20_000;
const NETWORK_AWAY_MS = 20_000;
/** Longer than a slow machine needs for the awaited events. */
const SOON_MS = 90_000;

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

/** Writes that an account's owner makes for every message, as the audit counts them. */
const OWNERS_WRITES = {
  'INSERT message': expect.any(Number),
  'UPDATE outbox': expect.any(Number),
  'UPDATE auth_key': expect.any(Number),
};

/** Pauses in this file are outages of that length; no event is awaited in them. */
const outage = wait;

interface Disturbed {
  trial: Trial;
  nodes: Nodes;
  /** Resolves when so many more messages were answered. */
  answers(count: number): Promise<void>;
}

/**
 * People write by number, by LID and in groups continuously, to three nodes with default settings. Every reader sees every
 * reply once and in order.
 */
async function checkedRun(
  what: string,
  disturb: (disturbed: Disturbed) => Promise<void>,
  more: Partial<TrialOptions> = {},
  settings: (trial: Trial) => Promise<Pick<DisturbNodesOptions, 'settingsOf'>> = async () => ({}),
): Promise<DisturbanceReport> {
  let measured: DisturbanceReport | undefined;
  const report = await runTrial(
    {
      databaseUrl: database.url,
      nodes: NAMES,
      messages: MESSAGES,
      seed: 5,
      chats: { numbers: 4, lids: 3, groups: 2 },
      ...more,
    },
    async (trial) => {
      const { conversations } = trial;
      const answers = async (count: number) => {
        expect(await conversations.untilAnswered(conversations.answered + count, SOON_MS)).toBe(true);
      };
      measured = await disturbNodes(trial, { names: NAMES, ...(await settings(trial)) }, (nodes) =>
        disturb({ trial, nodes, answers }),
      );
    },
  );
  const { messages, repeats, readAfterRetry, requestedAgain } = report.check;
  console.log(
    what,
    JSON.stringify({ ...measured, messages, repeats, readAfterRetry, requestedAgain: requestedAgain.length }),
  );
  expect(report.traces.slice(0, 12_000)).toBe('');
  expect(report.check.isPassed).toBe(true);
  expect(messages).toBeGreaterThanOrEqual(MESSAGES);
  if (!measured) throw new Error('nothing was disturbed');
  return measured;
}

describe('People who write to three nodes get every reply once and in order', () => {
  it('when the owner is killed repeatedly', TIMEOUT, async () => {
    await checkedRun('owner killed', async ({ trial, nodes, answers }) => {
      for (const _ of [1, 2, 3]) {
        const owner = await nodes.untilOwned();
        const live = trial.emulator.waitFor('live', undefined, SOON_MS);
        await nodes.end(owner, 'SIGKILL');
        await live;
        expect(await nodes.untilOwned('default', [owner])).not.toBe(owner);
        await answers(15);
        await nodes.add(owner);
      }
    });
  });

  it(
    'when the owner is paused until another node takes over, and then resumes without writing',
    TIMEOUT,
    async () => {
      const audit = await WriteAudit.of(database.url);
      const pause = async ({ trial, nodes, answers }: Disturbed) => {
        const paused = await nodes.untilOwned();
        const pausedNode = nodes.node(paused);
        const epoch = await nodes.epochOf('default', paused);
        const aliveAt = await audit.now();
        await answers(15);
        // The audit records what an owner writes: the assertion below would see it.
        expect(await audit.writesOf(paused, aliveAt)).toMatchObject(OWNERS_WRITES);
        expect(await audit.hasLease('default', paused, epoch)).toBe(true);

        const live = trial.emulator.waitFor('live', undefined, SOON_MS);
        process.kill(pausedNode.pid, 'SIGSTOP');
        let resumedAt: Date;
        try {
          await live;
          await answers(15);
        } finally {
          resumedAt = await audit.now();
          process.kill(pausedNode.pid, 'SIGCONT');
        }
        await pausedNode.untilLog((line) => line.msg.startsWith('account lost'));
        await pausedNode.untilLog((line) => line.msg === 'account state' && line.state === 'stopped');
        await answers(30);
        expect(await audit.writesOf(paused, resumedAt)).toEqual({});
        expect(await audit.hasLease('default', paused, epoch)).toBe(false);
        expect(await nodes.ownersOf('default', pausedNode)).not.toContain(paused);
      };
      try {
        await checkedRun(
          'owner paused',
          async (disturbed) => {
            for (const _ of [1, 2]) await pause(disturbed);
          },
          {},
          async () => ({ settingsOf: (name) => ({ databaseUrl: audit.urlOf(name) }) }),
        );
      } finally {
        await audit.close();
      }
    },
  );

  it('when PostgreSQL is restarted', TIMEOUT, async () => {
    await withPostgres((postgres) =>
      checkedRun(
        'PostgreSQL restarted',
        async ({ answers }) => {
          for (const _ of [1, 2]) {
            await postgres.end('SIGINT');
            await postgres.launch();
            await answers(15);
          }
        },
        { databaseUrl: postgres.url },
      ),
    );
  });

  it(`when PostgreSQL is killed and down for ${POSTGRES_AWAY_MS / 1_000} s`, TIMEOUT, async () => {
    await withPostgres((postgres) =>
      checkedRun(
        'PostgreSQL killed',
        async ({ answers }) => {
          await postgres.end('SIGKILL');
          await outage(POSTGRES_AWAY_MS);
          await postgres.launch();
          await answers(15);
        },
        { databaseUrl: postgres.url },
      ),
    );
  });

  it(
    'when another host replaces PostgreSQL and the first one disappears without closing its connections',
    TIMEOUT,
    async () => {
      const ways = new Map<string, TcpProxy>();
      for (const name of NAMES) ways.set(name, await TcpProxy.to(database.url));
      try {
        await checkedRun(
          'PostgreSQL replaced',
          async ({ nodes, answers }) => {
            const before = await nodes.untilEpoch();
            for (const way of ways.values()) way.silence();
            await outage(5_000);
            for (const way of ways.values()) way.replace();
            await answers(15);
            // nodes that the new host does not know do not take the account from each other
            expect((await nodes.untilEpoch()) - before).toBeLessThanOrEqual(2);
          },
          {},
          async () => ({ settingsOf: (name) => ({ databaseUrl: ways.get(name)?.through(database.url) }) }),
        );
      } finally {
        for (const way of ways.values()) await way.close();
      }
    },
  );

  it.each(['cut', 'silence'] as const)(
    `when the network between the owner and WhatsApp breaks for ${NETWORK_AWAY_MS / 1_000} s (%s)`,
    TIMEOUT,
    async (how) => {
      const ways = new Map<string, TcpProxy>();
      try {
        await checkedRun(
          `network ${how}`,
          async ({ nodes, answers }) => {
            const way = ways.get(await nodes.untilOwned());
            way?.[how]();
            await outage(NETWORK_AWAY_MS);
            way?.restore();
            await answers(15);
          },
          {},
          async ({ emulator }) => {
            for (const name of NAMES) ways.set(name, await TcpProxy.to(emulator.url));
            return { settingsOf: (name) => ({ whatsappWsUrl: ways.get(name)?.through(emulator.url) }) };
          },
        );
      } finally {
        for (const way of ways.values()) await way.close();
      }
    },
  );

  it('when all three nodes are restarted one after the other', TIMEOUT, async () => {
    await checkedRun('rolling restart', async ({ nodes, answers }) => {
      for (const name of NAMES) {
        expect(await nodes.end(name)).toBe(0);
        await nodes.add(name);
        await nodes.untilOpen();
        await answers(10);
      }
    });
  });

  it(`when the agent is down for ${AGENT_AWAY_MS / 1_000} s`, TIMEOUT, async () => {
    await checkedRun('agent down', async ({ trial, answers }) => {
      const startAgent = await trial.stopAgent();
      await outage(AGENT_AWAY_MS);
      await startAgent();
      await answers(15);
    });
  });
});

async function withPostgres<T>(work: (postgres: BreakablePostgres) => Promise<T>): Promise<T> {
  const postgres = await BreakablePostgres.start();
  try {
    return await work(postgres);
  } finally {
    await postgres.remove();
  }
}
