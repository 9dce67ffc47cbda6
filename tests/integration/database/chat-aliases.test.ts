import sql from 'sql-template-tag';
import { beforeAll, describe, expect, it } from 'vitest';
import { Postgres } from '../../../router/src/infra/db/postgres.ts';
import { aliasesOf } from '../../../router/src/infra/db/stores/chat-aliases.ts';
import { testDatabase } from '../../support/database.ts';

const database = testDatabase();
let postgres: Postgres;
beforeAll(async () => {
  postgres = database.open();
  await postgres.execute(sql`
    INSERT INTO lid_mapping (account_id, lid, phone) VALUES
      ('a', '111', '5493777000111'), ('a', '112', '5493777000111'), ('b', '999', '5493777000111')`);
});

describe('aliasesOf', () => {
  it('returns the LIDs of a number and the number of a LID, of this account only', async () => {
    expect((await aliasesOf(postgres, 'a', '5493777000111')).sort()).toEqual(['111@lid', '112@lid']);
    expect(await aliasesOf(postgres, 'a', '111@lid')).toEqual(['5493777000111']);
    expect(await aliasesOf(postgres, 'b', '111@lid')).toEqual([]);
  });

  it.each(['5493777000999', '42@lid', '111', '120363000000000042@g.us', 'status@broadcast', '*', 'x@y'])(
    'returns nothing for %s',
    async (channelId) => {
      expect(await aliasesOf(postgres, 'a', channelId)).toEqual([]);
    },
  );

  it('reports a database that does not answer', async () => {
    const url = new URL(database.url);
    url.port = '1';
    const away = new Postgres(url.href, { connectTimeoutMs: 1_000 });
    await expect(aliasesOf(away, 'a', '111@lid')).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
    await away.close();
  });
});
