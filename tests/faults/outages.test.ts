import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startEmbeddedPostgres } from '../../router/src/infra/db/embedded/embedded-postgres.ts';
import { inOneRun, runTrial, type TrialOptions, type TrialReport } from '../crash/trial.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { quietLog } from '../support/quiet-log.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

const MESSAGES = 150;
const TIMEOUT = { timeout: 240_000 };
const chats = { numbers: 4, lids: 3, groups: 2 };

let database: TestDatabase;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await database.drop();
});

const trialOptions = (more: Partial<TrialOptions> = {}): TrialOptions => ({
  databaseUrl: database.url,
  messages: MESSAGES,
  seed: 3,
  chats,
  ...more,
});

/** Pauses in this file are outages of that length; no event is awaited in them. */
const outage = wait;

/** Every reader saw every reply once and in order. */
function expectAsPromised(report: TrialReport): void {
  expect(report.traces).toBe('');
  expect(report.check.isPassed).toBe(true);
  expect(report.check.messages).toBe(MESSAGES + chats.numbers + chats.lids + chats.groups);
}

describe('People get every reply once and in order', () => {
  it('when the connection to PostgreSQL is cut for some seconds', TIMEOUT, async () => {
    const proxy = await TcpProxy.to(database.url);
    try {
      const report = await runTrial(
        trialOptions({ databaseUrl: proxy.through(database.url), reportDatabaseUrl: database.url }),
        inOneRun(MESSAGES, async () => {
          proxy.cut();
          await outage(5_000);
          proxy.restore();
        }),
      );
      expectAsPromised(report);
    } finally {
      await proxy.close();
    }
  });

  it('when PostgreSQL is killed and started again', TIMEOUT, async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'wa2ai-outage-'));
    const postgres = await startEmbeddedPostgres({ dataDir, log: quietLog });
    try {
      const report = await runTrial(
        trialOptions({ databaseUrl: postgres.url }),
        inOneRun(MESSAGES, async ({ conversations }) => {
          for (const _ of [1, 2]) {
            const pidFile = await readFile(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8');
            process.kill(Number(pidFile.split('\n')[0]), 'SIGKILL');
            await conversations.untilAnswered(conversations.answered + 20, 45_000);
          }
        }),
      );
      expectAsPromised(report);
    } finally {
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    }
  });

  it('when every connection to PostgreSQL is closed repeatedly', TIMEOUT, async () => {
    const postgres = database.open();
    const report = await runTrial(
      trialOptions(),
      inOneRun(MESSAGES, async ({ conversations }) => {
        for (const _ of [1, 2, 3, 4]) {
          await postgres.query(sql`
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()`);
          await conversations.untilAnswered(conversations.answered + 15, 45_000);
        }
      }),
    );
    expectAsPromised(report);
  });

  it('when the network to WhatsApp is cut repeatedly', TIMEOUT, async () => {
    const report = await runTrial(
      trialOptions(),
      inOneRun(MESSAGES, async ({ conversations, emulator, device }) => {
        for (const _ of [1, 2, 3, 4, 5]) {
          emulator.drop(device());
          await emulator.waitFor('live');
          await conversations.untilAnswered(conversations.answered + 12, 45_000);
        }
      }),
    );
    expectAsPromised(report);
  });

  it('when the agent is down for a while', TIMEOUT, async () => {
    const report = await runTrial(
      trialOptions(),
      inOneRun(MESSAGES, async ({ stopAgent }) => {
        const startAgent = await stopAgent();
        await outage(4_000);
        await startAgent();
      }),
    );
    expectAsPromised(report);
  });

  it('when WhatsApp stops answering and loses what was sent to it', TIMEOUT, async () => {
    const report = await runTrial(
      trialOptions(),
      inOneRun(MESSAGES, async ({ conversations, emulator, device }) => {
        for (const withheldAcks of [6, 0, 6]) {
          emulator.faults.withheldAcks = withheldAcks;
          await conversations.untilAnswered(conversations.answered + 6, 45_000);
          emulator.silence(device());
          await outage(400);
          emulator.faults.withheldAcks = 0;
          emulator.drop(device());
          await emulator.waitFor('live');
        }
      }),
    );
    expectAsPromised(report);
  });
});
