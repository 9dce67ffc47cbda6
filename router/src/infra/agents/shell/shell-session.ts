import { createHash } from 'node:crypto';
import { canonicalChannelId, writtenForms } from '../../../core/chat-id.ts';
import { AgentProtocolError } from '../../../core/errors.ts';
import { ShellError } from '../../../core/hosting/hosting-errors.ts';
import { type IncomingMessage, MAX_MEDIA_BYTES } from '../../../core/models.ts';
import type { RunOptions, ShellResult, ShellRuntime } from '../../../core/ports/agent-runtime.ts';

const FILE_TIMEOUT_MS = 60_000;
const SHORT_MS = 2_000;

/** The bash session of one person in one chat at a runtime; it is made when it is needed. */
export class ShellSession {
  readonly #runtime: ShellRuntime;
  readonly #name: string;
  readonly #begin: { cwd?: string; env?: Readonly<Record<string, string>> };

  /** @param owner tells people and chats apart; the runtime sees only a hash of it */
  constructor(
    runtime: ShellRuntime,
    owner: string,
    begin: { cwd?: string; env?: Readonly<Record<string, string>> },
  ) {
    this.#runtime = runtime;
    this.#name = `wa2ai-${createHash('sha256').update(owner).digest('hex').slice(0, 24)}`;
    this.#begin = begin;
  }

  /** Whether a repeated request is answered from memory. Makes the session when there is none. */
  async open(requestId: string, signal?: AbortSignal): Promise<{ canReplay: boolean }> {
    try {
      await this.#runtime.createSession(this.#name, signal);
    } catch (error) {
      if (error instanceof ShellError && error.fault === 'session-exists') return this.#opened();
      throw error;
    }
    const { cwd, env = {} } = this.#begin;
    const lines = Object.entries(env).map(([name, value]) => `export ${name}=${quoted(value)}`);
    if (cwd !== undefined) lines.push(`cd ${quoted(cwd)}`);
    if (lines.length > 0) await this.#run(lines.join('\n'), `${requestId}-begin`, SHORT_MS * 5);
    return this.#opened();
  }

  run(command: string, options: Omit<RunOptions, 'session'>): Promise<ShellResult> {
    return this.#runtime.run(command, { ...options, session: this.#name });
  }

  interrupt(): Promise<string> {
    return this.#runtime.interrupt(this.#name);
  }

  /** Ends the session; nothing happens when there is none. */
  async close(): Promise<void> {
    try {
      await this.#runtime.closeSession(this.#name);
    } catch (error) {
      if (!(error instanceof ShellError) || error.fault !== 'session-missing') throw error;
    }
  }

  /** A path as the session sees it: relative to its folder. */
  async pathOf(path: string, requestId: string): Promise<string> {
    if (path.startsWith('/')) return path;
    try {
      const { output } = await this.#run('pwd', `${requestId}-pwd`, SHORT_MS);
      return `${output.trim()}/${path.replace(/^\.\//, '')}`;
    } catch (error) {
      if (!(error instanceof ShellError) || error.fault !== 'timeout') throw error;
      const said = 'A command runs. Name a path that begins with /, or stop the command with /interrupt.';
      throw new ShellError('timeout', 'The session is busy.', said);
    }
  }

  async list(path: string): Promise<string> {
    const { stdout, stderr } = await this.#runtime.execute(['ls', '-la', '--', path], {
      timeoutMs: FILE_TIMEOUT_MS,
    });
    return stdout === '' ? stderr : stdout;
  }

  /** The bytes of a file. @throws {ShellError} it cannot be read, or is larger than a chat takes */
  async download(path: string): Promise<Buffer> {
    // one byte more than is sent, so that a larger file is found
    const script = 'test -f "$1" || { echo "$1: no such file" >&2; exit 1; }; head -c "$2" -- "$1" | base64';
    const command = ['sh', '-c', script, 'sh', path, String(MAX_MEDIA_BYTES + 1)];
    const { stdout, stderr, exitCode } = await this.#runtime.execute(command, { timeoutMs: FILE_TIMEOUT_MS });
    if (exitCode !== 0) throw new ShellError('file', 'The file cannot be read.', stderr.trim());
    const bytes = Buffer.from(stdout, 'base64');
    if (bytes.length > MAX_MEDIA_BYTES) {
      throw new ShellError(
        'file',
        'The file is too large.',
        `${path} has more than ${MAX_MEDIA_BYTES} bytes.`,
      );
    }
    if (bytes.length === 0) throw new ShellError('file', 'The file is empty.', `${path} is empty.`);
    return bytes;
  }

  upload(path: string, bytes: Uint8Array): Promise<void> {
    if (path.includes('\0')) throw new AgentProtocolError('The path of the file contains a zero byte.');
    return this.#runtime.upload(path, bytes);
  }

  #opened(): { canReplay: boolean } {
    return { canReplay: this.#runtime.canReplay };
  }

  #run(command: string, requestId: string, timeoutMs: number): Promise<ShellResult> {
    return this.#runtime.run(command, { session: this.#name, requestId, timeoutMs });
  }
}

/** A word of bash that stands for exactly this text. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** What a message wants from the shell. */
export type ShellRequest =
  | { kind: 'command'; command: string }
  | { kind: 'interrupt' | 'reset' | 'help' }
  | { kind: 'files' | 'get'; path: string }
  | { kind: 'upload'; path: string };

/** A document is an upload, a known word after `/` is what it says, and everything else is a command. */
export function shellRequestOf({ text, media }: Pick<IncomingMessage, 'text' | 'media'>): ShellRequest {
  if (media) return { kind: 'upload', path: text.trim() || safeName(media.fileName) };
  const [, name = '', rest = ''] = /^\s*\/([a-z]+)(?:\s+([\s\S]*))?$/i.exec(text) ?? [];
  const path = rest.trim();
  switch (name.toLowerCase()) {
    case 'interrupt':
    case 'reset':
    case 'help':
      return { kind: name.toLowerCase() as 'interrupt' | 'reset' | 'help' };
    case 'files':
      return { kind: 'files', path: path || '.' };
    case 'get':
      return path === '' ? { kind: 'help' } : { kind: 'get', path };
    default:
      return { kind: 'command', command: text };
  }
}

/** The name of a document without folders: the person who sends it does not choose where it goes. */
function safeName(name = 'document'): string {
  const plain = name.split(/[/\\]/).at(-1) ?? '';
  return plain === '' || plain === '.' || plain === '..' ? 'document' : plain.replaceAll('\0', '');
}

/** Whether the author of a message may use the shell: by number or LID, and in a group only when the group may too. */
export function mayUseShell(
  allow: readonly string[],
  { from, fromLid, channelId, isGroup }: Pick<IncomingMessage, 'from' | 'fromLid' | 'channelId' | 'isGroup'>,
): boolean {
  const allowed = new Set(allow.map((written) => canonicalChannelId(written)));
  const names = [from, fromLid].flatMap((jid) => (jid === undefined ? [] : (canonicalChannelId(jid) ?? [])));
  if (!writtenForms(names).some((name) => allowed.has(name))) return false;
  return !isGroup || allowed.has(canonicalChannelId(channelId));
}
