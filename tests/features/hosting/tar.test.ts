import { spawnSync } from 'node:child_process';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { type TarEntry, tarOf } from '../../../router/src/features/hosting/docker-engine.ts';

const CHANGED = Date.parse('2026-01-31T12:00:00.000Z');

async function* entriesOf(files: Array<[path: string, text: string, bytes?: number]>) {
  for (const [path, text, bytes = Buffer.byteLength(text)] of files) {
    const content = (async function* () {
      yield Buffer.from(text);
    })();
    yield { path, bytes, changedAtMs: CHANGED, content } satisfies TarEntry;
  }
}

async function archiveOf(files: Array<[path: string, text: string, bytes?: number]>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of tarOf(entriesOf(files))) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** What the program `tar` makes of an archive. */
function tar(archive: Buffer, ...args: string[]): string {
  const { stdout, stderr, status } = spawnSync('tar', [...args, '-f', '-'], { input: archive });
  expect([status, stderr.toString()]).toEqual([0, '']);
  return stdout.toString();
}

describe('tarOf', () => {
  it('writes archives that tar reads: empty, short and long files', async () => {
    const long = 'x'.repeat(1_537);
    const archive = await archiveOf([
      ['session.json', '{}'],
      ['workspace/empty', ''],
      ['workspace/long', long],
      ['workspace/block', 'y'.repeat(512)],
    ]);
    expect(tar(archive, '-t').trim().split('\n')).toEqual([
      'session.json',
      'workspace/empty',
      'workspace/long',
      'workspace/block',
    ]);
    expect(tar(archive, '-xO', 'workspace/long')).toBe(long);
    expect(tar(archive, '-tv', '--utc')).toContain('2026-01-31 12:00');
  });

  it('keeps long names and names of other scripts', async () => {
    const path = `workspace/${'long-name-'.repeat(20)}ñ漢.txt`;
    const archive = await archiveOf([
      [path, 'content'],
      ['after', 'next'],
    ]);
    expect(tar(archive, '-t', '--quoting-style=literal').trim().split('\n')).toEqual([path, 'after']);
    expect(tar(archive, '-xO', 'after')).toBe('next');
  });

  it('stays readable when a file changes its size meanwhile', async () => {
    const archive = await archiveOf([
      ['shorter', 'abc', 600],
      ['longer', 'abcdef', 3],
      ['after', 'next'],
    ]);
    expect(tar(archive, '-xO', 'shorter')).toBe(`abc${'\0'.repeat(597)}`);
    expect(tar(archive, '-xO', 'longer')).toBe('abc');
    expect(tar(archive, '-xO', 'after')).toBe('next');
  });

  it('fails with the error of a file', async () => {
    const content = (async function* () {
      yield Buffer.from('abc');
      throw new Error('disk gone');
    })();
    const reading = async () => {
      for await (const _ of tarOf(Readable.from([{ path: 'a', bytes: 9, changedAtMs: CHANGED, content }])));
    };
    await expect(reading()).rejects.toThrow('disk gone');
  });

  it('closes the file that it reads when the archive is no longer wanted', async () => {
    let isClosed = false;
    const content = (async function* () {
      for (;;) yield Buffer.alloc(65_536);
    })();
    const entries = (async function* () {
      try {
        yield { path: 'large', bytes: 2 ** 40, changedAtMs: CHANGED, content } satisfies TarEntry;
      } finally {
        isClosed = true;
      }
    })();
    let chunks = 0;
    for await (const _ of tarOf(entries)) if (++chunks === 10) break;
    expect(isClosed).toBe(true);
  });
});
