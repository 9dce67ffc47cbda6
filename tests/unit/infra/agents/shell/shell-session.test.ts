import { describe, expect, it } from 'vitest';
import { ShellError, type ShellFault } from '../../../../../router/src/core/hosting/hosting-errors.ts';
import { MAX_MEDIA_BYTES } from '../../../../../router/src/core/models.ts';
import type { ShellRuntime } from '../../../../../router/src/core/ports/agent-runtime.ts';
import { ShellSession } from '../../../../../router/src/infra/agents/shell/shell-agent-client.ts';

const faulty = (fault: ShellFault) =>
  new ShellError(fault, { sentence: `The runtime reported ${fault}.` }, 'for the person');

/** A session at a runtime that records its calls; `more` replaces what it answers. */
function setup(more: Partial<ShellRuntime> = {}, begin: ConstructorParameters<typeof ShellSession>[2] = {}) {
  const calls: unknown[][] = [];
  const runtime: ShellRuntime = {
    canReplay: true,
    createSession: async (name) => void calls.push(['create', name]),
    closeSession: async (name) => void calls.push(['close', name]),
    run: async (command, options) => {
      calls.push(['run', command, options.requestId]);
      return { output: '/data/in\n', exitCode: 0 };
    },
    interrupt: async () => 'partial',
    execute: async (command) => {
      calls.push(['execute', ...command]);
      return { stdout: '', stderr: '', exitCode: 0 };
    },
    upload: async (path, bytes) => void calls.push(['upload', path, bytes.length]),
    ...more,
  };
  return { session: new ShellSession(runtime, 'owner', begin), calls };
}

describe('ShellSession', () => {
  it('has a name that follows from its owner and does not contain it', async () => {
    const names = new Set<unknown>();
    for (const owner of ['5493777239922_a', '5493777239922_a', '5493777239922_b']) {
      const runtime = { createSession: async (name: string) => void names.add(name), canReplay: false };
      await new ShellSession(runtime as unknown as ShellRuntime, owner, {}).open('r');
    }
    expect(names.size).toBe(2);
    for (const name of names) expect(name).toMatch(/^wa2ai-[0-9a-f]{24}$/);
  });

  it('begins a new session in its folder and with its variables, whatever they contain', async () => {
    const { session, calls } = setup(
      {},
      { cwd: "/data/it's", env: { A: "x'; rm -rf /; '", B: 'two\nlines' } },
    );
    await expect(session.open('r1')).resolves.toEqual({ canReplay: true });
    const begin = `export A='x'\\''; rm -rf /; '\\'''\nexport B='two\nlines'\ncd '/data/it'\\''s'`;
    expect(calls.slice(1)).toEqual([['run', begin, 'r1-begin']]);
  });

  it('runs nothing in a session that exists already', async () => {
    const { session, calls } = setup(
      { createSession: () => Promise.reject(faulty('session-exists')) },
      { cwd: '/data' },
    );
    await expect(session.open('r1')).resolves.toEqual({ canReplay: true });
    expect(calls).toEqual([]);
  });

  it('passes on why a session cannot be made', async () => {
    const { session } = setup({ createSession: () => Promise.reject(faulty('other')) });
    await expect(session.open('r1')).rejects.toMatchObject({ fault: 'other' });
  });

  it('closes a session, also one that does not exist', async () => {
    const { session, calls } = setup();
    await session.close();
    expect(calls).toMatchObject([['close', expect.any(String)]]);
    const missing = setup({ closeSession: () => Promise.reject(faulty('session-missing')) });
    await expect(missing.session.close()).resolves.toBeUndefined();
    const broken = setup({ closeSession: () => Promise.reject(faulty('other')) });
    await expect(broken.session.close()).rejects.toMatchObject({ fault: 'other' });
  });

  it.each([
    ['/etc/hosts', '/etc/hosts'],
    ['notes.txt', '/data/in/notes.txt'],
    ['./notes.txt', '/data/in/notes.txt'],
    ['../up', '/data/in/../up'],
  ])('reads the path %s from the folder of the session', async (path, expected) => {
    await expect(setup().session.pathOf(path, 'r1')).resolves.toBe(expected);
  });

  it('asks for an absolute path while a command runs', async () => {
    const { session } = setup({ run: () => Promise.reject(faulty('timeout')) });
    await expect(session.pathOf('notes.txt', 'r1')).rejects.toMatchObject({
      forPerson: expect.stringContaining('begins with /'),
    });
    await expect(session.pathOf('/notes.txt', 'r1')).resolves.toBe('/notes.txt');
  });

  it('lists a folder, or says why it cannot', async () => {
    const listed = { stdout: 'total 0\n', stderr: '', exitCode: 0 };
    await expect(setup({ execute: async () => listed }).session.list('/a')).resolves.toBe('total 0\n');
    const failed = { stdout: '', stderr: 'ls: no\n', exitCode: 2 };
    await expect(setup({ execute: async () => failed }).session.list('/a')).resolves.toBe('ls: no\n');
    const { session, calls } = setup();
    await session.list('-rf');
    expect(calls).toEqual([['execute', 'ls', '-la', '--', '-rf']]);
  });

  it('returns the bytes of a file, which the path cannot make a command of', async () => {
    const bytes = Buffer.from([0, 255, 10, 13]);
    const { session, calls } = setup({
      execute: async (command) => {
        calls.push([...command]);
        return { stdout: `${bytes.toString('base64')}\n`, stderr: '', exitCode: 0 };
      },
    });
    await expect(session.download('/a"; rm -rf /')).resolves.toEqual(bytes);
    expect(calls[0]?.slice(3)).toEqual(['sh', '/a"; rm -rf /', String(MAX_MEDIA_BYTES + 1)]);
    expect(calls[0]?.[2]).not.toContain('rm');
  });

  it.each([
    ['cannot be read', { stdout: '', stderr: '/a: no such file\n', exitCode: 1 }, '/a: no such file'],
    ['is empty', { stdout: '', stderr: '', exitCode: 0 }, '/a is empty.'],
    [
      'is too large',
      { stdout: Buffer.alloc(MAX_MEDIA_BYTES + 1).toString('base64'), stderr: '', exitCode: 0 },
      `/a has more than ${MAX_MEDIA_BYTES} bytes.`,
    ],
  ])('says that a file %s', async (_, result, said) => {
    const { session } = setup({ execute: async () => result });
    await expect(session.download('/a')).rejects.toMatchObject({ fault: 'file', forPerson: said });
  });

  it('stores a file, and refuses a path that no system has', async () => {
    const { session, calls } = setup();
    await session.upload('/a', new Uint8Array(3));
    expect(calls).toEqual([['upload', '/a', 3]]);
    expect(() => session.upload('/a\0b', new Uint8Array(3))).toThrow('zero byte');
  });
});
