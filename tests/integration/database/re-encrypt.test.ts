import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { signingKey } from '../../../router/src/features/a2a/push-updates.ts';
import { PostgresAccountProxies } from '../../../router/src/features/accounts/postgres-account-store.ts';
import { NpcSettingsStore } from '../../../router/src/features/npc/npc-chain.ts';
import { secretColumns } from '../../../router/src/features.ts';
import { reEncrypt as reEncryptColumns } from '../../../router/src/infra/db/encryption/re-encrypt.ts';
import { parseDataKeys, SecretCipher } from '../../../router/src/infra/db/encryption/secret-cipher.ts';
import { PostgresKeyStore } from '../../../router/src/infra/db/stores/postgres-key-store.ts';
import { PostgresSettings } from '../../../router/src/infra/db/stores/postgres-settings.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

const reEncrypt = (on: pg.Client, cipher: SecretCipher) => reEncryptColumns(on, cipher, secretColumns());
const scope = { accountId: 'a', generation: 1 };
/** Ciphers without a key, with the former key, with both, and with the current key only. */
const [former, current] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
const cipherOf = (...keys: string[]) => new SecretCipher(parseDataKeys(keys.join('\n'), 'the test keys'));
const both = cipherOf(current, former);

let database: TestDatabase;
let client: pg.Client;
beforeEach(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterEach(async () => {
  await client.end();
  await database.drop();
});

function keys(count: number) {
  return Array.from({ length: count }, (_, n) => ({
    category: 'pre-key',
    keyId: String(n),
    value: `value ${n}`,
  }));
}

async function store(secrets: SecretCipher, count: number): Promise<void> {
  await keyStore(secrets).commit(scope, { puts: keys(count), deletes: [], journal: [] });
}

function keyStore(secrets: SecretCipher): PostgresKeyStore {
  return new PostgresKeyStore(database.open({ secrets }));
}

async function storedValues(): Promise<string[]> {
  const { rows } = await client.query<{ value: string }>('SELECT value FROM auth_key ORDER BY key_id');
  return rows.map((row) => row.value);
}

describe('reEncrypt', () => {
  it('encrypts more values than one statement takes, each readable with the current key alone', async () => {
    await store(cipherOf(former), 450);
    expect(await reEncrypt(client, both)).toEqual({ encrypted: 450, left: 0 });
    const values = await keyStore(cipherOf(current)).read(scope, keys(450));
    const order = (key: { keyId: string }) => Number(key.keyId);
    expect(values.sort((a, b) => order(a) - order(b))).toEqual(keys(450));
  });

  it('encrypts the key that signs push notifications, and no other setting of a face', async () => {
    const settings = new PostgresSettings(database.open());
    await settings.put('npc', { pem: 'not a secret' });
    const made = await signingKey(settings, cipherOf(former));
    expect(await reEncrypt(client, both)).toEqual({ encrypted: 1, left: 0 });
    expect((await signingKey(settings, cipherOf(current))).keySet()).toEqual(made.keySet());
    expect(await settings.get('npc')).toEqual({ pem: 'not a secret' });
  });

  it('encrypts the proxies of accounts, each for its account only', async () => {
    const url = 'socks5://router:a-password@proxy.test:1080';
    const proxiesOf = (secrets: SecretCipher) => new PostgresAccountProxies(database.open({ secrets }));
    const stored = async () =>
      (await client.query<{ proxy: string }>('SELECT proxy FROM account WHERE proxy IS NOT NULL')).rows;
    await client.query(`INSERT INTO account (id, updated_at) VALUES ('shop', now()), ('other', now())`);
    expect(await proxiesOf(cipherOf(former)).set('shop', url)).toBe(true);
    expect(await reEncrypt(client, both)).toEqual({ encrypted: 1, left: 0 });
    expect(JSON.stringify(await stored())).not.toMatch(/router|a-password|proxy\.test/);
    const proxies = proxiesOf(cipherOf(current));
    expect(await proxies.urlOf('shop')).toBe(url);
    expect(await proxies.urlOf('other')).toBeUndefined();
    expect(await proxies.list()).toEqual([
      { accountId: 'other', hasProxy: false },
      { accountId: 'shop', hasProxy: true },
    ]);
    await client.query(
      `UPDATE account SET proxy = (SELECT proxy FROM account WHERE id = 'shop') WHERE id = 'other'`,
    );
    await expect(proxies.urlOf('other')).rejects.toMatchObject({ code: 'STORAGE_DAMAGED' });
    expect(await proxies.set('shop', undefined)).toBe(true);
    expect(await proxies.urlOf('shop')).toBeUndefined();
    expect(await proxies.set('nobody', url)).toBe(false);
    await client.query(`DELETE FROM account WHERE id IN ('shop', 'other')`);
  });

  it('encrypts the RPC URL of the NPC server', async () => {
    const chain = {
      rpcUrl: 'https://rpc.test/secret',
      chainId: 1,
      contracts: {},
      tokens: [],
      limits: {},
    };
    const settingsStore = (secrets: SecretCipher) =>
      new NpcSettingsStore(new PostgresSettings(database.open({ secrets })), secrets);
    await new PostgresSettings(database.open()).put('a2a', { enabled: true });
    await settingsStore(cipherOf(former)).put({ enabled: true, name: 'Guard', chain });
    expect(await reEncrypt(client, both)).toEqual({ encrypted: 1, left: 0 });
    expect((await settingsStore(cipherOf(current)).get())?.chain).toEqual(chain);
  });

  it('changes nothing the second time', async () => {
    await store(new SecretCipher(), 3);
    expect(await reEncrypt(client, both)).toEqual({ encrypted: 3, left: 0 });
    const before = await storedValues();
    expect(await reEncrypt(client, both)).toEqual({ encrypted: 0, left: 0 });
    expect(await storedValues()).toEqual(before);
  });

  it('changes nothing without a key', async () => {
    await store(cipherOf(former), 3);
    const before = await storedValues();
    expect(await reEncrypt(client, new SecretCipher())).toEqual({ encrypted: 0, left: 0 });
    expect(await storedValues()).toEqual(before);
  });

  it('counts a damaged value, leaves it as it is and encrypts the others', async () => {
    await store(cipherOf(former), 3);
    await client.query(
      `UPDATE auth_key SET value = overlay(value PLACING '!!!!' FROM 30) WHERE key_id = '1'`,
    );
    const before = await storedValues();
    expect(await reEncrypt(client, both)).toEqual({ encrypted: 2, left: 1 });
    const after = await storedValues();
    expect(after[1]).toBe(before[1]);
    expect(after[0]).not.toBe(before[0]);
  });

  it('counts a value that was copied to another row', async () => {
    await store(cipherOf(former), 2);
    await client.query(
      `UPDATE auth_key SET value = (SELECT value FROM auth_key WHERE key_id = '0') WHERE key_id = '1'`,
    );
    expect(await reEncrypt(client, both)).toEqual({ encrypted: 1, left: 1 });
  });

  it('fails without the former key, and changes no value', async () => {
    await store(cipherOf(former), 2);
    const before = await storedValues();
    await expect(reEncrypt(client, cipherOf(current))).rejects.toMatchObject({ code: 'STORAGE_KEY' });
    expect(await storedValues()).toEqual(before);
  });
});
