import {
  type CallerMessage,
  isEnd,
  type NewServedTask,
  type NewUpdate,
  type ServedRequest,
  type ServedTask,
  type ServedTaskQuery,
  type ServedTasks,
} from '../../router/src/features/tasks/served-tasks.ts';

/** Tasks for programs in memory, with the promises of PostgresServedTasks except durability. */
export class MemoryServedTasks implements ServedTasks {
  readonly #tasks = new Map<string, ServedTask & { changedAt: number; order: number }>();
  readonly #now: () => number;
  readonly #onChange: (taskId: string) => void;
  #changes = 0;

  constructor(now: () => number = Date.now, onChange: (taskId: string) => void = () => undefined) {
    this.#now = now;
    this.#onChange = onChange;
  }

  open(task: NewServedTask): Promise<{ outcome: 'opened' | 'known'; task: ServedTask }>;
  open(
    task: NewServedTask,
    maxOpen: number | undefined,
  ): Promise<{ outcome: 'opened' | 'known'; task: ServedTask } | { outcome: 'full' }>;
  async open(
    given: NewServedTask,
    maxOpen = Number.POSITIVE_INFINITY,
  ): Promise<{ outcome: 'opened' | 'known'; task: ServedTask } | { outcome: 'full' }> {
    const known = [...this.#tasks.values()].find(
      (task) => task.owner === given.owner && task.messages[0]?.messageId === given.message.messageId,
    );
    if (known) return { outcome: 'known', task: shown(known) };
    const open = [...this.#tasks.values()].filter(
      ({ owner, state }) => owner === given.owner && !isEnd(state),
    );
    if (open.length >= maxOpen) return { outcome: 'full' };
    const { message, ...task } = structuredClone(given);
    const createdAt = new Date(this.#now());
    const opened = {
      ...task,
      state: 'submitted' as const,
      messages: [{ ...message, at: createdAt }],
      updates: [],
      createdAt,
    };
    this.#changes += 1;
    this.#tasks.set(task.id, { ...opened, changedAt: this.#now(), order: this.#changes });
    return { outcome: 'opened', task: structuredClone(opened) };
  }

  async get(id: string, owners?: readonly string[]): Promise<ServedTask | undefined> {
    const task = this.#tasks.get(id);
    return task && (owners?.includes(task.owner) ?? true) ? shown(task) : undefined;
  }

  async list(
    owners: readonly string[],
    query: ServedTaskQuery,
  ): Promise<{ tasks: ServedTask[]; total: number }> {
    const { contextId, state, since, after, limit } = query;
    const all = [...this.#tasks.values()]
      .filter((task) => owners.includes(task.owner))
      .filter((task) => contextId === undefined || task.contextId === contextId)
      .filter((task) => state === undefined || task.state === state)
      .filter((task) => since === undefined || task.changedAt > since.getTime())
      .sort((a, b) => b.order - a.order);
    const from = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1 || all.length;
    return { tasks: all.slice(from, from + limit).map(shown), total: all.length };
  }

  async update(id: string, update: NewUpdate): Promise<boolean> {
    const task = this.#tasks.get(id);
    if (!task || isEnd(task.state) || task.updates.some(({ key }) => key === update.key)) return false;
    const number = task.updates.length + 1;
    this.#changes += 1;
    task.updates.push({ ...structuredClone(update), number, at: new Date(this.#now()) });
    Object.assign(task, { state: update.state, changedAt: this.#now(), order: this.#changes });
    this.#onChange(id);
    return true;
  }

  async resume(id: string, message: Omit<CallerMessage, 'at'>, request: ServedRequest): Promise<boolean> {
    const task = this.#tasks.get(id);
    if (task?.state !== 'input-required') return false;
    task.messages.push({ ...message, at: new Date(this.#now()) });
    task.request = request;
    return this.update(id, { key: `input ${message.messageId}`, state: 'submitted' });
  }

  async versions(ids: readonly string[]): Promise<Map<string, number>> {
    const found = ids.flatMap((id) => this.#tasks.get(id) ?? []);
    return new Map(found.map(({ id, updates }) => [id, updates.length]));
  }

  async waiting(forMs: number, limit: number): Promise<Array<{ id: string; round: number }>> {
    return [...this.#tasks.values()]
      .filter(
        ({ state, request, changedAt }) =>
          state === 'submitted' && request && changedAt < this.#now() - forMs,
      )
      .sort((a, b) => a.order - b.order)
      .slice(0, limit)
      .map(({ id, messages }) => ({ id, round: messages.length }));
  }
}

function shown({
  changedAt: _at,
  order: _order,
  ...task
}: ServedTask & { changedAt: number; order: number }): ServedTask {
  return structuredClone(task);
}
