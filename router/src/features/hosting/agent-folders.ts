import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { chmod, lchown, mkdir, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { AGENT_ID } from '../../core/hosting/agent-life.ts';
import { AgentUnusableError } from '../../core/hosting/hosting-errors.ts';
import { say } from '../../core/phrases.ts';
import type { AgentFileInfo, AgentFiles, AgentPlace, AgentUsage } from '../../core/ports/agent-runtime.ts';
import { type FolderEntry, NOT_A_PLACE, OpenFolder } from '../../infra/files/open-folder.ts';
import { type TarEntry, tarOf } from './docker-engine.ts';

/** Largest file that is read whole. */
const MAX_READ_BYTES = 64 * 1024 * 1024;

/** What every file, folder and link takes on a disk, at least. */
const MIN_BYTES = 4_096;

/** Folders above a file, and bytes of one name. */
const MAX_DEPTH = 32;
const MAX_NAME_BYTES = 255;

/**
 * `<data folder>/agents/<agent id>/` with `session.json` and `workspace/`, and `<data folder>/agent-tokens/<agent id>`. An
 * agent may write anything into its folder, links too, and replace folders by links at any moment: all is done by open folders.
 */
export class AgentFolders implements AgentFiles {
  readonly #agents: string;
  readonly #tokens: string;

  constructor(dataDir: string) {
    this.#agents = resolve(dataDir, 'agents');
    this.#tokens = resolve(dataDir, 'agent-tokens');
  }

  async folderId(): Promise<string> {
    await mkdir(this.#agents, { recursive: true });
    const file = join(this.#agents, '.folder-id');
    try {
      await writeFile(file, `${randomBytes(8).toString('hex')}\n`, { flag: 'wx', mode: 0o644 });
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw unusable(file, error);
    }
    return (await readFile(file, 'utf8')).trim();
  }

  async prepare(agentId: string, { isNew, owner }: { isNew: boolean; owner?: string }): Promise<AgentPlace> {
    const folder = this.#folderOf(agentId);
    const tokenFile = this.#tokenFileOf(agentId);
    try {
      for (const own of [this.#agents, this.#tokens]) {
        await mkdir(own, { recursive: true });
        // Users of agents reach their folder, and do not list those of others.
        await chmod(own, 0o711);
      }
      await mkdir(folder, { recursive: true, mode: 0o700 });
      if (isNew || (await this.token(agentId)) === undefined) {
        // A new file: a container that still runs has the old one mounted.
        await rm(tokenFile, { force: true });
        await writeFile(tokenFile, randomBytes(32).toString('hex'), { mode: 0o400 });
      }
      await this.#within(agentId, async (own) => {
        if (!own.isSafe) throw new Error('hosted agents need Linux with /proc, or macOS');
        await prepared(own, owner);
      });
      if (owner !== undefined && process.getuid?.() === 0) {
        const [uid = 0, gid = 0] = owner.split(':').map(Number);
        await lchown(tokenFile, uid, gid);
      }
    } catch (error) {
      throw unusable(folder, error);
    }
    return { folder, tokenFile };
  }

  async token(agentId: string): Promise<string | undefined> {
    try {
      return (await readFile(this.#tokenFileOf(agentId), 'utf8')).trim();
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw unusable(this.#tokenFileOf(agentId), error);
    }
  }

  async usage(agentId: string, limitBytes = Number.POSITIVE_INFINITY): Promise<AgentUsage> {
    let bytes = 0;
    try {
      for await (const entry of this.#walk(agentId)) {
        if (entry.kind === 'unread') return { bytes, unread: entry.path };
        bytes += Math.max(MIN_BYTES, entry.stats.size, (entry.stats.blocks ?? 0) * 512);
        if (bytes > limitBytes) break;
      }
    } catch (error) {
      return { bytes, unread: codeOf(error) ?? String(error) };
    }
    return { bytes };
  }

  async freeBytes(): Promise<number> {
    await mkdir(this.#agents, { recursive: true });
    const { bavail, bsize } = await statfs(this.#agents);
    return bavail * bsize;
  }

  async list(agentId: string, limit: number): Promise<AgentFileInfo[]> {
    const files: AgentFileInfo[] = [];
    for await (const entry of this.#walk(agentId)) {
      if (files.length >= limit) break;
      if (entry.kind === 'file') files.push(infoOf(entry.path, entry.stats));
    }
    return files;
  }

  async read(agentId: string, path: string): Promise<Uint8Array | undefined> {
    const { folders, name } = partsOf(path);
    if (name === undefined) return undefined;
    try {
      return await this.#within(agentId, async (own) => {
        const folder = await own.descend(folders);
        const file = await folder.read(name).finally(() => folder.close());
        try {
          if ((await file.stat()).size > MAX_READ_BYTES) {
            throw new AgentUnusableError('AGENT_FILE_TOO_LARGE', say('hosted.file-too-large', { path }));
          }
          return await file.readFile();
        } finally {
          await file.close();
        }
      });
    } catch (error) {
      if (error instanceof AgentUnusableError) throw error;
      return undefined;
    }
  }

  async write(agentId: string, path: string, bytes: Uint8Array): Promise<boolean> {
    const { folders, name } = partsOf(path);
    if (name === undefined || ![...folders, name].every(isPlainName) || folders.length > MAX_DEPTH)
      return false;
    try {
      await this.#within(agentId, async (own) => {
        const folder = await own.descend(folders, true);
        await folder.replace(name, bytes).finally(() => folder.close());
      });
      return true;
    } catch (error) {
      if (NOT_A_PLACE.has(codeOf(error) ?? '')) return false;
      throw unusable(join(this.#folderOf(agentId), path), error);
    }
  }

  async *archive(agentId: string): AsyncGenerator<Uint8Array> {
    yield* tarOf(filesOf(this.#walk(agentId)));
  }

  async delete(agentId: string, path: string): Promise<void> {
    const { folders, name } = partsOf(path);
    if (name === undefined) return;
    try {
      await this.#within(agentId, async (own) => {
        const folder = await own.descend(folders);
        await folder.remove(name).finally(() => folder.close());
      });
    } catch (error) {
      const code = codeOf(error) ?? '';
      if (code === 'ENOTEMPTY') {
        throw new AgentUnusableError(
          'AGENT_FOLDER',
          say('hosted.writes-while-deleted', { agent: agentId, path }),
          { cause: error },
        );
      }
      if (code !== 'ENOENT' && !NOT_A_PLACE.has(code))
        throw unusable(join(this.#folderOf(agentId), path), error);
    }
  }

  async remove(agentId: string): Promise<void> {
    const id = checked(agentId);
    try {
      await rm(this.#tokenFileOf(id), { force: true });
      const agents = await OpenFolder.open(this.#agents);
      await agents.remove(id).finally(() => agents.close());
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw unusable(this.#folderOf(id), error);
    }
  }

  async #within<T>(agentId: string, work: (own: OpenFolder) => Promise<T>): Promise<T> {
    const own = await OpenFolder.open(this.#folderOf(agentId));
    return await work(own).finally(() => own.close());
  }

  /** Nothing when the agent has no folder yet. */
  async *#walk(agentId: string): AsyncGenerator<FolderEntry> {
    const own = await OpenFolder.open(this.#folderOf(agentId)).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    });
    if (!own) return;
    try {
      yield* own.walk();
    } finally {
      await own.close();
    }
  }

  #folderOf(agentId: string): string {
    return join(this.#agents, checked(agentId));
  }

  #tokenFileOf(agentId: string): string {
    return join(this.#tokens, checked(agentId));
  }
}

/** A name of a file or folder. No name leads elsewhere, and none confuses a terminal. */
function isPlainName(name: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  const isPlain = name !== '' && name !== '.' && name !== '..' && !/[\u0000-\u001f\u007f\\]/.test(name);
  return isPlain && Buffer.byteLength(name) <= MAX_NAME_BYTES;
}

/** A path as the names that lead to it; no name when it is the path of nothing below a folder. */
function partsOf(path: string): { folders: string[]; name?: string } {
  const folders = path.split('/');
  const isWrong = (part: string) =>
    part === '' ||
    part === '.' ||
    part === '..' ||
    part.includes('\0') ||
    Buffer.byteLength(part) > MAX_NAME_BYTES;
  const name = folders.pop() ?? '';
  return [...folders, name].some(isWrong) ? { folders } : { folders, name };
}

/** `workspace` of an agent, in place of what has its name, and the mode and owner of both. */
async function prepared(own: OpenFolder, owner: string | undefined): Promise<void> {
  const workspace = await own.make('workspace').catch(async (error: unknown) => {
    if (!NOT_A_PLACE.has(codeOf(error) ?? '')) throw error;
    await own.remove('workspace');
    return await own.make('workspace');
  });
  try {
    const [uid, gid] = owner?.split(':').map(Number) ?? [process.getuid?.(), process.getgid?.()];
    if (uid === undefined || gid === undefined) return;
    // The agent ran as another user before.
    if (process.getuid?.() === 0 && own.owner.uid !== uid) {
      for await (const entry of own.walk()) {
        if (entry.kind !== 'unread') await entry.give({ uid, gid }).catch(() => undefined);
      }
    }
    for (const folder of [own, workspace]) await folder.own({ uid, gid, mode: 0o700 });
  } finally {
    await workspace.close();
  }
}

/** The files of a walk, open. What the agent has replaced or deleted meanwhile is left out. */
async function* filesOf(entries: AsyncIterable<FolderEntry>): AsyncGenerator<TarEntry> {
  for await (const entry of entries) {
    if (entry.kind !== 'file') continue;
    const file = await entry.open().catch(() => undefined);
    if (!file) continue;
    try {
      const content = file.createReadStream({ autoClose: false });
      yield { ...infoOf(entry.path, await file.stat()), content };
    } finally {
      await file.close();
    }
  }
}

function infoOf(path: string, { size, mtimeMs }: Stats): AgentFileInfo {
  return { path, bytes: size, changedAtMs: Math.round(mtimeMs) };
}

function checked(agentId: string): string {
  if (AGENT_ID.test(agentId)) return agentId;
  throw new AgentUnusableError('AGENT_SETTINGS', say('hosted.bad-id'));
}

function codeOf(error: unknown): string | undefined {
  return (error as { code?: string } | undefined)?.code;
}

function unusable(path: string, error: unknown): AgentUnusableError {
  const reason = error instanceof Error ? error.message : String(error);
  return new AgentUnusableError('AGENT_FOLDER', say('hosted.data-not-stored', { path, why: reason }), {
    cause: error,
  });
}
