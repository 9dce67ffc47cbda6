import sql from 'sql-template-tag';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../router/src/core/errors.ts';
import type { TaskFunctions } from '../../router/src/core/tasks.ts';
import { DbosTasks } from '../../router/src/infra/engine/dbos-tasks.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { asOwner, createRole } from '../support/database-role.ts';
import { quietLog } from '../support/quiet-log.ts';

let database: TestDatabase;
let running: DbosTasks[];

beforeEach(async () => {
  database = await createTestDatabase();
  running = [];
});

afterEach(async () => {
  for (const tasks of running) await tasks.stop();
  await database.drop();
});

function tasksOf(functions: Partial<TaskFunctions>, nodeId = 'n1'): DbosTasks {
  const tasks = new DbosTasks({
    databaseUrl: database.url,
    postgres: database.open(),
    nodeId,
    functions,
    exclusively: (work) => work(),
    log: quietLog,
  });
  running.push(tasks);
  return tasks;
}

const hasTables = async () => {
  const [row] = await database
    .open()
    .query<{ has: boolean }>(sql`SELECT to_regclass('dbos.workflow_status') IS NOT NULL AS has`);
  return row?.has;
};

/** A step that waits for something that does not come, and rejects when the process stops. */
function untilStopped(stopping: AbortSignal, begin: () => void): Promise<string> {
  return new Promise((_resolve, reject) => {
    stopping.addEventListener('abort', () => reject(stopping.reason));
    begin();
  });
}

describe('DbosTasks', () => {
  it('does not start DBOS before the first task', async () => {
    const tasks = tasksOf({});
    await tasks.resume(() => true);
    expect(await tasks.status('none')).toBeUndefined();
    expect(await hasTables()).toBe(false);
  });

  it('runs a task once, however often it is started, and keeps its result', async () => {
    let runs = 0;
    const tasks = tasksOf({
      'delete-account': async (steps) => ({ deletedRows: await steps.run('count', async () => ++runs) }),
    });
    for (let start = 0; start < 3; start++)
      await tasks.start({ kind: 'delete-account', id: 'one', input: { accountId: 'a' } });
    await expect
      .poll(() => tasks.status('one'))
      .toEqual({
        kind: 'delete-account',
        state: 'done',
        result: { deletedRows: 1 },
      });
    expect(runs).toBe(1);
    expect(await tasks.status('another')).toBeUndefined();
  });

  it('fails with the sentence of an error that is not retried', async () => {
    const tasks = tasksOf({
      'delete-account': async (steps) => {
        await steps.run('refuse', () => Promise.reject(new TypeError('It cannot be deleted.')));
        return { deletedRows: 0 };
      },
    });
    await tasks.start({ kind: 'delete-account', id: 'one', input: { accountId: 'a' } });
    await expect
      .poll(() => tasks.status('one'))
      .toEqual({
        kind: 'delete-account',
        state: 'failed',
        error: 'It cannot be deleted.',
      });
  });

  it('repeats a step when the database did not respond', async () => {
    let attempts = 0;
    const tasks = tasksOf({
      'delete-account': async (steps) => ({
        deletedRows: await steps.run('delete', async () => {
          attempts += 1;
          if (attempts === 1) throw new StorageUnavailableError({ sentence: 'away' });
          return 7;
        }),
      }),
    });
    await tasks.start({ kind: 'delete-account', id: 'one', input: { accountId: 'a' } });
    await expect.poll(() => tasks.status('one')).toMatchObject({ state: 'done', result: { deletedRows: 7 } });
    expect(attempts).toBe(2);
  });

  it('names the missing rights when its tables cannot be used', async () => {
    const role = await createRole(database);
    await asOwner(database, 'CREATE SCHEMA dbos');
    const tasks = new DbosTasks({
      databaseUrl: role.url,
      postgres: database.open(),
      nodeId: 'n1',
      functions: {},
      exclusively: (work) => work(),
      log: quietLog,
    });
    await expect(
      tasks.start({ kind: 'delete-account', id: 'one', input: { accountId: 'a' } }),
    ).rejects.toThrow(/schema "dbos".*Grant the database user/);
    await role.drop();
  });

  it('runs a long step again that the stop of the process ended', async () => {
    let begin: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const first = tasksOf({
      'follow-task': (steps) =>
        steps.run('wait', () => untilStopped(steps.stopping, begin)).then((outcome) => ({ outcome })),
    });
    await first.start({ kind: 'follow-task', id: 'task', input: { taskId: '1' } });
    await begun;
    await first.stop();
    const second = tasksOf({
      'follow-task': async (steps) => ({ outcome: await steps.run('wait', async () => 'done') }),
    });
    await second.resume(() => false);
    await expect
      .poll(() => second.status('task'))
      .toMatchObject({ state: 'done', result: { outcome: 'done' } });
  });

  it.each([
    ['the same node after a restart', 'n1'],
    ['another node after its death', 'n2'],
  ])('continues a task on %s, and runs no step again that ended', async (_name, survivor) => {
    const done: string[] = [];
    let reached: () => void = () => undefined;
    const interrupted = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const first = tasksOf({
      'delete-account': async (steps) => {
        await steps.run('one', async () => done.push('one'));
        await steps.run('two', () => {
          reached();
          return new Promise<never>(() => undefined);
        });
        return { deletedRows: 0 };
      },
    });
    await first.start({ kind: 'delete-account', id: 'task', input: { accountId: 'a' } });
    await interrupted;
    await first.stop();
    const second = tasksOf(
      {
        'delete-account': async (steps) => {
          await steps.run('one', async () => done.push('one again'));
          await steps.run('two', async () => done.push('two'));
          return { deletedRows: 2 };
        },
      },
      survivor,
    );
    await second.resume((node) => node === 'n1');
    await expect
      .poll(() => second.status('task'))
      .toMatchObject({ state: 'done', result: { deletedRows: 2 } });
    expect(done).toEqual(['one', 'two']);
  });
});
