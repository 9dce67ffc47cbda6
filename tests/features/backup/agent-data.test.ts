import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  AgentDataWriter,
  dumpAgentData,
  type LeftOut,
} from '../../../router/src/features/backup/agent-data.ts';
import type { BackupRecord, FileHead } from '../../../router/src/features/backup/records.ts';
import { OpenFolder } from '../../../router/src/infra/files/open-folder.ts';
import { whileSwapping } from '../../support/swapping.ts';

/** How often a backup is made while folders are swapped: the first one by paths contained files of the host. */
const BACKUPS = 300;

let base: string;
let agent: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'wa2ai-data-'));
  agent = join(base, 'agents/bot');
  mkdirSync(join(agent, 'workspace'), { recursive: true });
});
afterEach(async () => {
  const parent = await OpenFolder.open(dirname(base));
  await parent.remove(basename(base)).finally(() => parent.close());
});

async function dump(): Promise<{ records: BackupRecord[]; leftOut: LeftOut; files: number }> {
  const leftOut: LeftOut = { count: 0, files: [] };
  const records: BackupRecord[] = [];
  const dumping = dumpAgentData(base, leftOut);
  for (;;) {
    const { value, done } = await dumping.next();
    if (done) return { records, leftOut, files: value };
    records.push(value);
  }
}

function pathsOf(records: readonly BackupRecord[]): string[] {
  return records.flatMap(({ type, value }) => (type === 'file' ? [value.path] : []));
}

describe('a backup of the files of hosted agents', () => {
  it('contains no file of the host while an agent replaces a folder by a link in a loop', async () => {
    mkdirSync(join(base, 'secret'));
    writeFileSync(join(base, 'secret/key'), 'secret');
    mkdirSync(join(agent, 'workspace/notes'));
    symlinkSync('../../../secret', join(agent, 'workspace/link'));
    await whileSwapping(join(agent, 'workspace/notes'), join(agent, 'workspace/link'), async () => {
      for (let backup = 0; backup < BACKUPS; backup++) {
        const { records } = await dump();
        expect(pathsOf(records).filter((path) => path.endsWith('key'))).toEqual([]);
        const data = records.flatMap(({ type, value }) => (type === 'data' ? [value.toString()] : []));
        expect(data.join('')).not.toContain('secret');
      }
    });
  });

  it('is made without what cannot be read, and names it', async () => {
    writeFileSync(join(agent, 'workspace/ok'), 'ok');
    writeFileSync(join(agent, 'workspace/holes'), '');
    truncateSync(join(agent, 'workspace/holes'), 2 ** 40);
    let inner = await OpenFolder.open(join(agent, 'workspace'));
    for (let level = 0; level < 60; level++) {
      const outer = inner;
      inner = await outer.make('d'.repeat(200));
      await outer.close();
    }
    await inner.close();
    const { records, leftOut, files } = await dump();
    expect(pathsOf(records)).toContain('agents/bot/workspace/ok');
    expect(files).toBe(pathsOf(records).length);
    expect(leftOut).toEqual({
      count: 2,
      files: [
        { path: expect.stringMatching(/^agents\/bot\/workspace\/d{200}\//), reason: 'ENAMETOOLONG' },
        { path: 'agents/bot/workspace/holes', reason: 'it is mostly holes' },
      ],
    });
  });

  it('fails when a folder of wa2ai itself cannot be read', async () => {
    rmSync(join(base, 'agents'), { recursive: true });
    writeFileSync(join(base, 'agents'), '');
    await expect(dump()).rejects.toMatchObject({ code: 'BACKUP_SOURCE' });
  });
});

describe('a restore of the files of hosted agents', () => {
  const head = (path: string, kind: FileHead['kind'], target?: string): FileHead => ({
    ...{ path, kind, mode: kind === 'folder' ? 0o700 : 0o600 },
    ...{ uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
    ...(target !== undefined && { target }),
  });
  async function* bytes(text = ''): AsyncGenerator<Buffer> {
    if (text) yield Buffer.from(text);
  }

  it('writes no file and no link through a link', async () => {
    mkdirSync(join(base, 'secret'));
    const writer = new AgentDataWriter(join(base, 'restore'));
    await writer.write(head('agents', 'folder'), bytes());
    await writer.write(head('agents/out', 'link', '../../secret'), bytes());
    await writer.write(head('agents/out/inner', 'link', 'x'), bytes());
    await expect(writer.write(head('agents/out/file', 'file'), bytes('a'))).rejects.toMatchObject({
      code: 'BACKUP_DAMAGED',
    });
    await expect(writer.finish()).rejects.toMatchObject({ code: 'BACKUP_DAMAGED' });
    await writer.remove();
    expect(readdirSync(join(base, 'secret'))).toEqual([]);
    expect(existsSync(join(base, 'restore'))).toBe(false);
  });

  it('places what a backup contains, in the place of what is there', async () => {
    writeFileSync(join(agent, 'workspace/old'), 'old');
    const writer = new AgentDataWriter(join(base, 'restore'));
    await writer.write(head('agents', 'folder'), bytes());
    await writer.write(head('agents/new', 'folder'), bytes());
    await writer.write(head('agents/new/file', 'file'), bytes('new'));
    await writer.write(head('agents/new/link', 'link', 'file'), bytes());
    await writer.finish();
    await writer.place(base);
    await writer.remove();
    expect(readdirSync(join(base, 'agents'))).toEqual(['new']);
    expect(readFileSync(join(base, 'agents/new/link'), 'utf8')).toBe('new');
    expect(lstatSync(join(base, 'agents/new/file')).mode & 0o777).toBe(0o600);
    expect(existsSync(join(base, 'restore'))).toBe(false);
  });
});
