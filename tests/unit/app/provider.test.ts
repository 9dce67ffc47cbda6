import nock from 'nock';
import { expect, it } from 'vitest';
import { whatsApp } from '../../../router/src/app/provider.ts';
import { loadConfig } from '../../../router/src/config/config.ts';
import { writeReference } from '../../../router/src/providers/baileys/media/media.ts';
import { mockNetwork } from '../../support/mocked-network.ts';
import { quietLog } from '../../support/quiet-log.ts';
import { encryptFile } from '../../whatsapp-emulator/media-crypto.ts';

mockNetwork();

const PATH = '/v/file.enc?ccb=11-4';

function uploaded() {
  const { encrypted, ...file } = encryptFile(Buffer.from('a picture'), 'image');
  return { encrypted, reference: writeReference('image', { ...file, directPath: PATH }) };
}

it('creates the connection of an account, which is not open before it is started', () => {
  const statuses: unknown[] = [];
  const provider = whatsApp.create({
    config: loadConfig({}, false),
    postgres: {},
    storage: {},
    faults: { events: (inner: unknown) => inner, keyStore: (inner: unknown) => inner },
    fence: { accountId: 'shop', owner: 'n1', epoch: 1n },
    outbox: {},
    events: { status: (status: unknown) => statuses.push(status) },
    metrics: {},
    log: quietLog,
  } as unknown as Parameters<typeof whatsApp.create>[0]);
  expect(provider.accountId).toBe('shop');
  expect(provider.status().state).not.toBe('open');
  expect(statuses).toEqual([]);
});

it('downloads files from the host of the settings', async () => {
  const { encrypted, reference } = uploaded();
  nock('https://media.example:8443').get(PATH).reply(200, encrypted);
  const config = loadConfig({ WA2AI_WHATSAPP_MEDIA_HOST: 'media.example:8443' }, false);
  const bytes = await whatsApp.downloadMedia(config, reference);
  expect(Buffer.from(bytes).toString()).toBe('a picture');
});

it('ends a download that takes longer than the settings allow', async () => {
  const { encrypted, reference } = uploaded();
  nock('https://mmg.whatsapp.net').get(PATH).delay(60_000).reply(200, encrypted);
  const config = loadConfig({ WA2AI_MEDIA_TIMEOUT: '100ms' }, false);
  await expect(whatsApp.downloadMedia(config, reference)).rejects.toMatchObject({
    code: 'MEDIA_UNAVAILABLE',
    message: expect.stringContaining('within 100 ms'),
  });
});
