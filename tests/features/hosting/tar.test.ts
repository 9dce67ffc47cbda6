import { spawnSync } from 'node:child_process';
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
});
