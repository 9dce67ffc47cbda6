import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { normalizeMessageContent } from '@whiskeysockets/baileys';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { S3Server } from '../doubles/s3-server.ts';
import { PNG } from '../support/sounds.ts';
import { TestBed } from '../support/test-bed.ts';

let bed: TestBed;
let server: S3Server;
let folder: string;
let s3: Record<string, string>;

beforeAll(async () => {
  server = await S3Server.start();
  folder = await mkdtemp(join(tmpdir(), 'wa2ai-media-'));
  const { endpoint, bucket, region, prefix, accessKeyId, secretAccessKey } = server.settings;
  s3 = {
    WA2AI_MEDIA_DIR: folder,
    WA2AI_MEDIA_S3_ENDPOINT: endpoint,
    WA2AI_MEDIA_S3_BUCKET: bucket,
    WA2AI_MEDIA_S3_REGION: region,
    WA2AI_MEDIA_S3_PREFIX: prefix,
    WA2AI_MEDIA_S3_ACCESS_KEY: accessKeyId,
    WA2AI_MEDIA_S3_SECRET_KEY: secretAccessKey,
  };
  bed = await TestBed.startPaired({ env: { ...s3, WA2AI_MEDIA_STORE: 's3' } });
});

afterAll(async () => {
  await bed.close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

/** Sends the picture to a new person; its row, and the bytes that arrive. */
async function send() {
  const person = bed.person();
  const data = new FormData();
  data.append('channelId', person.phone);
  data.append('image', new Blob([Uint8Array.from(PNG)]), 'a.png');
  const response = await fetch(`${bed.service.url}/api/messages`, { method: 'POST', body: data });
  expect(response.status).toBe(202);
  const { data: sent } = (await response.json()) as { data: { id: string } };
  const { message } = await person.nextReply();
  expect(normalizeMessageContent(message)?.imageMessage?.mimetype).toBe('image/png');
  return { id: sent.id, arrived: bed.emulator.mediaHost.open(message) };
}

const fileOf = async (id: string) => {
  const response = await fetch(`${bed.service.url}/api/messages/${id}/file`);
  return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
};

describe('a file that is sent', () => {
  it('is in the store of the settings, in any of them after another one is set, and arrives while one is away', async () => {
    const inS3 = await send();
    expect(inS3.arrived).toEqual(PNG);
    expect([...server.objects.values()].map(({ bytes }) => bytes)).toEqual([PNG]);
    expect(await fileOf(inS3.id)).toEqual({ status: 200, bytes: PNG });

    server.status = 503;
    const inDatabase = await send();
    expect(inDatabase.arrived).toEqual(PNG);
    server.status = undefined;
    expect(server.objects.size).toBe(1);

    await bed.service.end();
    await bed.restartService({ ...s3, WA2AI_MEDIA_STORE: 'disk' });
    const onDisk = await send();
    expect(onDisk.arrived).toEqual(PNG);
    expect(await readdir(folder)).toHaveLength(1);
    for (const { id } of [inS3, inDatabase, onDisk]) {
      expect(await fileOf(id)).toEqual({ status: 200, bytes: PNG });
    }
    expect(bed.service.output).not.toContain(server.settings.secretAccessKey);
    const { body } = await bed.service.api('GET', '/api/settings');
    expect(JSON.stringify(body)).not.toContain(server.settings.secretAccessKey);
  });
});
