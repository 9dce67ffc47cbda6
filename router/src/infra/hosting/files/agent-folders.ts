import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import {
  chmod,
  lchown,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rm,
  writeFile,
} from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { AGENT_ID } from '../../../core/hosting/agent-spec.ts';
import { AgentUnusableError } from '../../../core/hosting/hosting-errors.ts';
import type { AgentFileInfo, AgentFiles } from '../../../core/ports/agent-files.ts';
import type { AgentPlace } from '../../../core/ports/agent-runtime.ts';
import { OpenFolder } from './open-folder.ts';
import { type TarEntry, tarOf } from './tar.ts';

/** Largest file that is read whole. */
const MAX_READ_BYTES = 64 * 1024 * 1024;

/** Opens neither a link nor a pipe that blocks, also when the agent replaces the file now. */
const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Folders above a file, and bytes of one name. */
const MAX_DEPTH = 32;
const MAX_NAME_BYTES = 255;

/** Codes of the system for a path that leads through a link or a file, or is a folder. */
const NOT_A_PLACE = new Set(['ELOOP', 'ENOTDIR', 'EMLINK', 'EISDIR', 'ENOTEMPTY', 'EEXIST', 'ENAMETOOLONG']);

/**
 * `<data folder>/agents/<agent id>/` with `session.json` and `workspace/`, and `<data folder>/agent-tokens/<agent id>`. An
 * agent may write anything into its folder, links too: wa2ai follows none of them.
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
      await mkdir(join(folder, 'workspace'), { recursive: true, mode: 0o700 });
      await mkdir(this.#tokens, { recursive: true, mode: 0o711 });
      if (isNew || (await this.token(agentId)) === undefined) {
        // A new file: a container that still runs has the old one mounted.
        await rm(tokenFile, { force: true });
        await writeFile(tokenFile, randomBytes(32).toString('hex'), { mode: 0o400 });
      }
      if (owner !== undefined && process.getuid?.() === 0) {
        const [uid = 0, gid = 0] = owner.split(':').map(Number);
        for (const path of [folder, join(folder, 'workspace'), tokenFile]) await lchown(path, uid, gid);
      }
      await chmod(folder, 0o700);
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

  async usage(agentId: string): Promise<number> {
    let bytes = 0;
    for await (const file of filesIn(this.#folderOf(agentId))) bytes += file.bytes;
    return bytes;
  }

  async list(agentId: string, limit: number): Promise<AgentFileInfo[]> {
    const folder = this.#folderOf(agentId);
    const files: AgentFileInfo[] = [];
    for await (const { path, bytes, changedAtMs } of filesIn(folder)) {
      if (files.length >= limit) break;
      files.push({ path: relative(folder, path).split(sep).join('/'), bytes, changedAtMs });
    }
    return files;
  }

  async read(agentId: string, path: string): Promise<Uint8Array | undefined> {
    const found = await this.#inside(agentId, path);
    if (found === undefined) return undefined;
    try {
      const file = await open(found, READ_FLAGS);
      try {
        const info = await file.stat();
        if (!info.isFile()) return undefined;
        if (info.size > MAX_READ_BYTES) {
          throw new AgentUnusableError(
            'AGENT_FILE_TOO_LARGE',
            `${path} is larger than 64 MB. Copy it from the data folder.`,
          );
        }
        return await file.readFile();
      } finally {
        await file.close();
      }
    } catch (error) {
      if (error instanceof AgentUnusableError) throw error;
      return undefined;
    }
  }

  async write(agentId: string, path: string, bytes: Uint8Array): Promise<boolean> {
    const parts = path.split('/');
    const name = parts.pop() ?? '';
    if (![...parts, name].every(isPlainName) || parts.length > MAX_DEPTH) return false;
    const root = this.#folderOf(agentId);
    let folder: OpenFolder | undefined;
    try {
      folder = await OpenFolder.open(root);
      for (const part of parts) {
        const outer: OpenFolder = folder;
        folder = await outer.enter(part);
        await outer.close();
      }
      await folder.replace(name, bytes);
      return true;
    } catch (error) {
      if (NOT_A_PLACE.has(codeOf(error) ?? '')) return false;
      throw unusable(join(root, path), error);
    } finally {
      await folder?.close();
    }
  }

  async *archive(agentId: string): AsyncGenerator<Uint8Array> {
    const folder = this.#folderOf(agentId);
    yield* tarOf(entriesIn(folder));
  }

  async delete(agentId: string, path: string): Promise<void> {
    const found = await this.#inside(agentId, path);
    if (found !== undefined) await rm(found, { recursive: true, force: true });
  }

  async remove(agentId: string): Promise<void> {
    await rm(this.#folderOf(agentId), { recursive: true, force: true });
    await rm(this.#tokenFileOf(agentId), { force: true });
  }

  /** The path of a file whose folder is inside of the agent's folder, without links. */
  async #inside(agentId: string, path: string): Promise<string | undefined> {
    const folder = this.#folderOf(agentId);
    const wanted = resolve(folder, path);
    if (!wanted.startsWith(folder + sep) || path.includes('\0')) return undefined;
    try {
      const parent = await realpath(join(wanted, '..'));
      const root = await realpath(folder);
      return parent === root || parent.startsWith(root + sep) ? wanted : undefined;
    } catch {
      return undefined;
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

/** The regular files below a folder, by path. Files that disappear meanwhile are left out. */
async function* filesIn(
  folder: string,
): AsyncGenerator<{ path: string; bytes: number; changedAtMs: number }> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesIn(path);
    else if (entry.isFile()) {
      const info = await lstat(path).catch(() => undefined);
      if (info?.isFile()) yield { path, bytes: info.size, changedAtMs: Math.round(info.mtimeMs) };
    }
  }
}

async function* entriesIn(folder: string): AsyncGenerator<TarEntry> {
  for await (const { path, ...info } of filesIn(folder)) {
    // The agent may have replaced it by a link or a pipe, or deleted it.
    const file = await open(path, READ_FLAGS).catch(() => undefined);
    if (!file) continue;
    try {
      if ((await file.stat()).isFile()) {
        const content = file.createReadStream({ autoClose: false });
        yield { path: relative(folder, path).split(sep).join('/'), ...info, content };
      }
    } finally {
      await file.close();
    }
  }
}

function checked(agentId: string): string {
  if (AGENT_ID.test(agentId)) return agentId;
  throw new AgentUnusableError('AGENT_SETTINGS', 'The id of the hosted agent is not valid.');
}

function codeOf(error: unknown): string | undefined {
  return (error as { code?: string } | undefined)?.code;
}

function unusable(path: string, error: unknown): AgentUnusableError {
  const reason = error instanceof Error ? error.message : String(error);
  return new AgentUnusableError(
    'AGENT_FOLDER',
    `The data of hosted agents cannot be stored in ${path}: ${reason}. Check WA2AI_DATA_DIR.`,
    { cause: error },
  );
}
