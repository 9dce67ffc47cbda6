import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { ListedFile, MediaStore } from '../../router/src/core/ports/media.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import { Egress } from '../../router/src/infra/agents/transport/egress.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { DiskMediaStore } from '../../router/src/infra/media/disk-media-store.ts';
import { S3MediaStore } from '../../router/src/infra/media/s3-media-store.ts';
import { S3Server } from '../doubles/s3-server.ts';

const transport = new AgentTransport(new Egress('any'));
const deps = { transport, clock: systemClock };
const closers: Array<() => Promise<unknown>> = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

interface Opened {
  store: MediaStore;
  /** Changes a stored file behind the back of the store. */
  damage(location: string): Promise<void>;
}

async function openDisk(maxBytes = 10_000_000): Promise<Opened & { folder: string; disk: DiskMediaStore }> {
  const root = await mkdtemp(join(tmpdir(), 'wa2ai-media-'));
  closers.push(() => rm(root, { recursive: true, force: true }));
  const folder = join(root, 'media');
  const disk = new DiskMediaStore({ folder, maxBytes });
  return { store: disk, disk, folder, damage: (location) => writeFile(join(folder, location), 'other') };
}

async function openS3(): Promise<Opened & { server: S3Server }> {
  const server = await S3Server.start();
  closers.push(() => server.close());
  const damage = async (location: string) => {
    server.objects.set(`wa2ai/${location}`, { bytes: Buffer.from('other'), atMs: 0 });
  };
  return { store: new S3MediaStore(server.settings, deps), server, damage };
}

async function listOf(store: MediaStore): Promise<ListedFile[]> {
  const files: ListedFile[] = [];
  for await (const file of store.list()) files.push(file);
  return files;
}

describe.each([
  ['disk', openDisk],
  ['s3', openS3],
] as Array<[string, () => Promise<Opened>]>)('a media store: %s', (_, open) => {
  it('returns what was stored, under a location that contains its hash', async () => {
    const { store } = await open();
    const bytes = Buffer.concat([Buffer.alloc(3), randomBytes(100_000)]);
    const location = await store.put(bytes);
    expect(location).toMatch(/^[0-9a-f]{2}\/[0-9a-f]{64}-[0-9a-f]{16}$/);
    expect(Buffer.from(await store.get(location))).toEqual(bytes);
  });

  it('stores the same bytes twice, so that each row has its own file', async () => {
    const { store } = await open();
    const [first, second] = [await store.put(Buffer.from('a')), await store.put(Buffer.from('a'))];
    expect(first).not.toBe(second);
    await store.remove(first);
    expect(Buffer.from(await store.get(second)).toString()).toBe('a');
  });

  it('refuses a file that was changed', async () => {
    const { store, damage } = await open();
    const location = await store.put(Buffer.from('a'));
    await damage(location);
    await expect(store.get(location)).rejects.toMatchObject({ code: 'MEDIA_BROKEN' });
  });

  it('says that a file is gone, and removes twice without an error', async () => {
    const { store } = await open();
    const location = await store.put(Buffer.from('a'));
    await store.remove(location);
    await store.remove(location);
    await expect(store.get(location)).rejects.toMatchObject({ code: 'MEDIA_GONE', disposition: 'dead' });
  });

  it('lists all files with size and time', async () => {
    const { store } = await open();
    expect(await listOf(store)).toEqual([]);
    const locations = [];
    for (let n = 1; n <= 5; n++) locations.push(await store.put(Buffer.alloc(n)));
    const listed = await listOf(store);
    expect(listed.map(({ location }) => location).sort()).toEqual(locations.sort());
    expect(listed.map(({ sizeBytes }) => sizeBytes).sort()).toEqual([1, 2, 3, 4, 5]);
    for (const { storedAtMs } of listed) expect(Number.isFinite(storedAtMs)).toBe(true);
  });
});

describe('the store on disk', () => {
  it('has files and folders that only their user can open, and no part of a file', async () => {
    const { store, folder } = await openDisk();
    const location = await store.put(Buffer.from('a'));
    const modeOf = async (path: string) => (await stat(path)).mode & 0o777;
    expect(await modeOf(folder)).toBe(0o700);
    expect(await modeOf(join(folder, location))).toBe(0o600);
    expect(await readdir(join(folder, location.slice(0, 2)))).toEqual([location.slice(3)]);
  });

  it('takes no file beyond its limit, also after a restart', async () => {
    const { store, folder } = await openDisk(10);
    const location = await store.put(Buffer.alloc(8));
    await expect(store.put(Buffer.alloc(3))).rejects.toMatchObject({ code: 'MEDIA_UNAVAILABLE' });
    const again = new DiskMediaStore({ folder, maxBytes: 10 });
    await expect(again.put(Buffer.alloc(3))).rejects.toMatchObject({ code: 'MEDIA_UNAVAILABLE' });
    await again.remove(location);
    expect(await again.used()).toBe(0);
    await again.put(Buffer.alloc(3));
  });

  it('lists what a crash left of a file, and removes it; nothing else is touched', async () => {
    const { store, folder } = await openDisk();
    const location = await store.put(Buffer.from('a'));
    await store.remove(location);
    await writeFile(join(folder, `${location}.part`), 'x');
    await writeFile(join(folder, 'notes.txt'), 'x');
    await utimes(join(folder, `${location}.part`), 0, 0);
    const listed = await listOf(store);
    expect(listed).toEqual([{ location: `${location}.part`, sizeBytes: 1, storedAtMs: 0 }]);
    await store.remove(`${location}.part`);
    expect(await listOf(store)).toEqual([]);
    await expect(store.get('../../etc/passwd')).rejects.toMatchObject({ code: 'MEDIA_GONE' });
  });

  it('says that it cannot be written', async () => {
    const { folder } = await openDisk();
    await mkdir(folder);
    await writeFile(join(folder, 'file'), '');
    const store = new DiskMediaStore({ folder: join(folder, 'file'), maxBytes: 100 });
    await expect(store.put(randomBytes(9))).rejects.toMatchObject({ code: 'MEDIA_UNAVAILABLE' });
  });
});

describe('the store in S3', () => {
  it.each([403, 500, 503])('can be used later when the server answers %i', async (status) => {
    const { store, server } = await openS3();
    const location = await store.put(Buffer.from('a'));
    server.status = status;
    const failed = { code: 'MEDIA_UNAVAILABLE', disposition: 'retry' };
    await expect(store.put(Buffer.from('b'))).rejects.toMatchObject(failed);
    await expect(store.get(location)).rejects.toMatchObject(failed);
    server.status = undefined;
    expect(Buffer.from(await store.get(location)).toString()).toBe('a');
  });

  it('sends no secret, and is refused with another one', async () => {
    const { store, server } = await openS3();
    await store.put(Buffer.from('a'));
    expect(JSON.stringify(server.requests)).not.toContain(server.settings.secretAccessKey);
    const other = new S3MediaStore({ ...server.settings, secretAccessKey: 'wrong' }, deps);
    await expect(other.put(Buffer.from('a'))).rejects.toThrow('status 403');
  });
});
