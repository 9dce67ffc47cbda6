import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type PlaygroundScenarios,
  PostgresPlaygroundScenarios,
} from '../../../router/src/features/playground/scenario-store.ts';
import { MemoryPlaygroundScenarios } from '../../doubles/memory-playground-scenarios.ts';
import { createTestDatabase } from '../../support/database.ts';

interface Adapter {
  scenarios: PlaygroundScenarios;
  close(): Promise<void>;
}

const ADAPTERS: Array<{ name: string; open(): Promise<Adapter> }> = [
  {
    name: 'memory',
    open: async () => ({ scenarios: new MemoryPlaygroundScenarios(), close: async () => undefined }),
  },
  {
    name: 'PostgreSQL',
    async open() {
      const database = await createTestDatabase();
      return { scenarios: new PostgresPlaygroundScenarios(database.open()), close: () => database.drop() };
    },
  },
];

describe.each(ADAPTERS)('saved scenarios in $name', ({ open }) => {
  let adapter: Adapter;
  beforeAll(async () => {
    adapter = await open();
  });
  afterAll(() => adapter.close());

  it('are listed by name, without their text', async () => {
    const { scenarios } = adapter;
    const second = await scenarios.save('b', 'steps: [] # b');
    const first = await scenarios.save('a', 'steps: [] # a');
    const savedAt = expect.any(Date);
    expect(await scenarios.list()).toEqual([
      { id: first.id, name: 'a', savedAt },
      { id: second.id, name: 'b', savedAt },
    ]);
    expect(await scenarios.get(first.id)).toEqual({
      id: first.id,
      name: 'a',
      savedAt,
      yaml: 'steps: [] # a',
    });
  });

  it('are replaced under the same name and keep their id', async () => {
    const { scenarios } = adapter;
    const { id } = await scenarios.save('greeting', 'one');
    expect((await scenarios.save('greeting', 'two')).id).toBe(id);
    expect((await scenarios.get(id))?.yaml).toBe('two');
  });

  it('are removed once', async () => {
    const { scenarios } = adapter;
    const { id } = await scenarios.save('gone', 'one');
    expect([await scenarios.remove(id), await scenarios.remove(id)]).toEqual([true, false]);
    expect(await scenarios.get(id)).toBeUndefined();
  });
});
