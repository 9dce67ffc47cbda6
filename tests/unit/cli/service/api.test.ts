import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Api } from '../../../../router/src/cli/service/api.ts';
import { targetOf } from '../../../../router/src/cli/service/target.ts';
import { type HttpApi, startHttpApi } from '../../../support/http-api.ts';

const KEY = 'an-admin-key-for-tests';
let open: HttpApi | undefined;
let folder: string | undefined;

afterEach(async () => {
  await open?.close();
  if (folder) await rm(folder, { recursive: true });
  [open, folder] = [undefined, undefined];
});

async function started(apiKey?: string) {
  open = await startHttpApi({ ...(apiKey !== undefined && { apiKey }) });
  return open;
}

describe('Api', () => {
  it('calls the service at a URL with the key of the environment', async () => {
    const { url } = await started(KEY);
    const api = new Api(await targetOf({ url }, { WA2AI_API_KEY: KEY }));
    expect(await api.call('GET', '/api/routes', { query: { limit: 5, other: undefined } })).toMatchObject({
      success: true,
    });
  });

  it('reads the key from a file', async () => {
    const { url } = await started(KEY);
    folder = await mkdtemp(join(tmpdir(), 'wa2ai-cli-'));
    const keyFile = join(folder, 'key');
    await writeFile(keyFile, `${KEY}\n`);
    const api = new Api(await targetOf({ url, keyFile }, { WA2AI_API_KEY: 'another-key-that-is-wrong' }));
    await expect(api.call('GET', '/api/routes')).resolves.toMatchObject({ success: true });
  });

  it('ends with 4 when the service refuses the caller', async () => {
    const { url } = await started(KEY);
    const api = new Api(await targetOf({ url }, {}));
    await expect(api.call('GET', '/api/routes')).rejects.toMatchObject({
      exitCode: 4,
      message: expect.stringContaining('--key-file'),
    });
  });

  it('ends with 1 and every wrong field when the service refuses a body', async () => {
    const { url } = await started();
    const api = new Api(await targetOf({ url }, {}));
    const wrong = api.call('POST', '/api/routes', { body: {} });
    await expect(wrong).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringMatching(/channelId is missing\. config is missing/),
    });
  });

  it('ends with 3 when no service answers', async () => {
    const api = new Api(await targetOf({ url: 'http://127.0.0.1:9' }, {}));
    await expect(api.call('GET', '/health')).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringContaining('wa2ai start'),
    });
  });

  it('looks for the port of the settings when there is no Unix socket', async () => {
    expect(await targetOf({}, { WA2AI_DATA_DIR: '/nowhere', WA2AI_PORT: '4000' })).toEqual({
      url: 'http://127.0.0.1:4000',
      name: 'http://127.0.0.1:4000',
    });
  });
});
