import { existsSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AgentFolders } from '../../../router/src/features/hosting/agent-folders.ts';
import { OpenFolder } from '../../../router/src/infra/files/open-folder.ts';
import { whileSwapping } from '../../support/swapping.ts';

/** How often an operation is attempted while folders are swapped: an operation by paths was misled within 500. */
const ATTEMPTS = 500;

describe('files of a hosted agent that replaces a folder by a link in a loop', () => {
  let base: string;
  let files: AgentFolders;
  beforeEach(async () => {
    base = mkdtempSync(join(tmpdir(), 'wa2ai-agents-'));
    files = new AgentFolders(base);
    await files.prepare('bot', { isNew: true });
    mkdirSync(join(base, 'secret'));
    writeFileSync(join(base, 'secret/key'), 'secret');
    mkdirSync(join(base, 'agents/bot/workspace/notes'));
    writeFileSync(join(base, 'agents/bot/workspace/notes/own'), 'own');
    symlinkSync(join(base, 'secret'), join(base, 'agents/bot/workspace/link'));
  });
  afterEach(async () => {
    const parent = await OpenFolder.open(dirname(base));
    await parent.remove(basename(base)).finally(() => parent.close());
  });

  const swapping = (work: () => Promise<void>) =>
    whileSwapping(
      join(base, 'agents/bot/workspace/notes'),
      join(base, 'agents/bot/workspace/link'),
      async () => {
        for (let attempt = 0; attempt < ATTEMPTS; attempt++) await work();
      },
    );

  it('are deleted in its folder only', async () => {
    await swapping(async () => {
      await files.delete('bot', 'workspace/notes/key');
      expect(existsSync(join(base, 'secret/key'))).toBe(true);
    });
  });

  it('are read from its folder only', async () => {
    await swapping(async () => {
      expect(await files.read('bot', 'workspace/notes/key')).toBeUndefined();
    });
  });

  it('are listed and measured in its folder only', async () => {
    writeFileSync(join(base, 'secret/large'), Buffer.alloc(1_000_000));
    await swapping(async () => {
      const paths = (await files.list('bot', 1_000)).map(({ path }) => path);
      expect(paths.filter((path) => /key|large/.test(path))).toEqual([]);
      expect((await files.usage('bot')).bytes).toBeLessThan(1_000_000);
    });
  });

  it('are archived from its folder only', async () => {
    await swapping(async () => {
      const chunks = [];
      for await (const chunk of files.archive('bot')) chunks.push(chunk);
      expect(Buffer.concat(chunks).includes('secret')).toBe(false);
    });
  });
});

describe('files of a hosted agent', () => {
  let base: string;
  let files: AgentFolders;
  beforeEach(async () => {
    base = mkdtempSync(join(tmpdir(), 'wa2ai-agents-'));
    files = new AgentFolders(base);
    await files.prepare('bot', { isNew: true });
  });
  afterEach(async () => {
    const parent = await OpenFolder.open(dirname(base));
    await parent.remove(basename(base)).finally(() => parent.close());
  });

  it('are erased with the agent, also below a path of 12,060 bytes', async () => {
    let inner = await OpenFolder.open(join(base, 'agents/bot/workspace'));
    for (let level = 0; level < 60; level++) {
      const outer = inner;
      inner = await outer.make('d'.repeat(200));
      await outer.close();
    }
    await inner.replace('file', Buffer.from('a'));
    await inner.close();
    expect(await files.usage('bot')).toMatchObject({ unread: expect.stringContaining('workspace/ddd') });
    await files.remove('bot');
    expect(readdirSync(join(base, 'agents'))).toEqual([]);
    expect(readdirSync(join(base, 'agent-tokens'))).toEqual([]);
  });

  it('count with at least 4,096 bytes each, so that many empty ones are too much', async () => {
    const before = (await files.usage('bot')).bytes;
    for (let file = 0; file < 100; file++) writeFileSync(join(base, `agents/bot/workspace/${file}`), '');
    const { bytes } = await files.usage('bot');
    expect(bytes - before).toBeGreaterThanOrEqual(100 * 4_096);
    expect((await files.usage('bot', 8_192)).bytes).toBeLessThan(8_192 + 10 * 4_096);
  });

  it('get a real folder in the place of a link called workspace', async () => {
    mkdirSync(join(base, 'secret'));
    await files.delete('bot', 'workspace');
    symlinkSync(join(base, 'secret'), join(base, 'agents/bot/workspace'));
    await files.prepare('bot', { isNew: false });
    await files.write('bot', 'workspace/file', Buffer.from('a'));
    expect(readdirSync(join(base, 'secret'))).toEqual([]);
    expect(await files.read('bot', 'workspace/file')).toEqual(Buffer.from('a'));
  });
});
