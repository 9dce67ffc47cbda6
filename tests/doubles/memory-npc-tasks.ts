import { isDeepStrictEqual } from 'node:util';
import {
  hasEnded,
  type NewNpcTask,
  type NpcTask,
  type NpcTaskEnd,
  type NpcTaskPage,
  type NpcTaskQuery,
  type NpcTasks,
} from '../../router/src/features/npc/npc-tasks.ts';

/** Tasks of the NPC server in memory, with the promises of PostgresNpcTasks except durability. */
export class MemoryNpcTasks implements NpcTasks {
  readonly #now: () => number;
  readonly #tasks: NpcTask[] = [];
  /** Called after each new version, as PostgreSQL notifies. */
  onChanged: (taskId: string) => void = () => undefined;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async open(task: NewNpcTask): Promise<{ outcome: 'opened' | 'known' | 'conflict'; task: NpcTask }> {
    const { owner, type, params, idempotencyKey } = task;
    const known = this.#tasks.find(
      (each) =>
        idempotencyKey !== undefined && each.owner === owner && each.idempotencyKey === idempotencyKey,
    );
    if (known) {
      const isSame = known.type === type && isDeepStrictEqual(known.params, params);
      return { outcome: isSame ? 'known' : 'conflict', task: structuredClone(known) };
    }
    const opened: NpcTask = {
      ...structuredClone(task),
      status: 'pending',
      version: 1,
      attempts: 0,
      createdAtMs: this.#now(),
      updatedAtMs: this.#now(),
    };
    this.#tasks.push(opened);
    return { outcome: 'opened', task: structuredClone(opened) };
  }

  async find(taskId: string): Promise<NpcTask | undefined> {
    return (await this.findAll([taskId]))[0];
  }

  async findAll(taskIds: readonly string[]): Promise<NpcTask[]> {
    return structuredClone(this.#tasks.filter(({ taskId }) => taskIds.includes(taskId)));
  }

  async list(owners: readonly string[], { type, status, before, limit }: NpcTaskQuery): Promise<NpcTaskPage> {
    const mine = this.#tasks
      .map((task, index) => ({ task, id: index + 1 }))
      .filter(({ task }) => owners.includes(task.owner) && task.type === (type ?? task.type))
      .filter(({ task }) => task.status === (status ?? task.status))
      .reverse();
    const rest = mine.filter(({ id }) => before === undefined || id < Number(before));
    const page = rest.slice(0, limit);
    const last = page.at(-1);
    return {
      tasks: structuredClone(page.map(({ task }) => task)),
      total: mine.length,
      ...(rest.length > limit && last && { next: String(last.id) }),
    };
  }

  async begin(taskId: string): Promise<boolean> {
    return this.#change(taskId, (task) => {
      task.status = 'processing';
    });
  }

  async progress(taskId: string, percent: number): Promise<void> {
    const task = this.#tasks.find((each) => each.taskId === taskId);
    if (!task || percent <= (task.progress ?? -1)) return;
    this.#change(taskId, (running) => {
      running.progress = percent;
    });
  }

  async countAttempt(taskId: string): Promise<void> {
    const task = this.#tasks.find((each) => each.taskId === taskId);
    if (task) task.attempts += 1;
  }

  async finish(taskId: string, end: NpcTaskEnd): Promise<boolean> {
    return this.#change(taskId, (task) => {
      Object.assign(task, structuredClone(end), end.status === 'completed' ? { progress: 100 } : {});
    });
  }

  async notBegun(olderThanMs: number, limit: number): Promise<NpcTask[]> {
    const before = this.#now() - olderThanMs;
    const open = this.#tasks.filter(
      ({ status, createdAtMs }) => status === 'pending' && createdAtMs <= before,
    );
    return structuredClone(open.slice(0, limit));
  }

  /** @returns false: there is no such running task */
  #change(taskId: string, change: (task: NpcTask) => void): boolean {
    const task = this.#tasks.find((each) => each.taskId === taskId);
    if (!task || hasEnded(task)) return false;
    change(task);
    task.version += 1;
    task.updatedAtMs = this.#now();
    this.onChanged(taskId);
    return true;
  }
}
