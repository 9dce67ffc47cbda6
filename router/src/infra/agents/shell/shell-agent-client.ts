import { createHash } from 'node:crypto';
import type { AgentClient, AttemptOptions, FollowedTask, TaskReport } from '../../../core/agent-client.ts';
import { canonicalChannelId, contractSessionId, jidHash, writtenForms } from '../../../core/chat-id.ts';
import { within } from '../../../core/clock.ts';
import {
  AgentProtocolError,
  AgentTaskError,
  AgentUncertainError,
  MediaError,
  Wa2aiError,
} from '../../../core/errors.ts';
import { type AgentUser, nameOfUser } from '../../../core/hosting/agent-life.ts';
import { ShellError } from '../../../core/hosting/hosting-errors.ts';
import {
  type AgentResponse,
  type IncomingMessage,
  MAX_MEDIA_BYTES,
  type Route,
} from '../../../core/models.ts';
import { say } from '../../../core/phrases.ts';
import type { RunOptions, ShellResult, ShellRuntime } from '../../../core/ports/agent-runtime.ts';
import type { AgentDeps } from '../agent-kind.ts';
import { attemptLog } from '../attempt-log.ts';
import { needsYes, ShellQuestion, type ShellSettings } from './shell-settings.ts';
import { DockerDeployment, RemoteRuntime } from './swe-rex/remote-runtime.ts';

/** A turn waits so long for a command; one that runs longer becomes a task, so that the chat can interrupt it. */
const TURN_WAIT_MS = 4_000;
const DEFAULT_TIMEOUT_MS = 600_000;
const DEFAULT_OUTPUT_CHARS = 3_000;
const DEFAULT_IDLE_MINUTES = 30;

const LOST = say('shell.uncertain');

const REFUSED = 'You may not use this shell.';

/** What the chat gets, once, while an image is pulled for long. */
const SLOW_START =
  'Your shell is being set up for the first time, which takes a while. The command runs as soon as it is ready.';
const EDITED = 'An edited message is not run. Send the command as a new message.';

/**
 * Runs the messages of allowed people as commands of bash, in a session for each person and chat. A command runs once: its
 * request id is that of the message, and a repeat after a crash only asks for the result.
 */
export class ShellAgentClient implements AgentClient {
  readonly #deps: AgentDeps;
  readonly #settings: ShellSettings;
  readonly #route: Pick<Route, 'id' | 'accountId'>;

  constructor(deps: AgentDeps, settings: ShellSettings, route: Pick<Route, 'id' | 'accountId'>) {
    this.#deps = deps;
    this.#settings = settings;
    this.#route = route;
  }

  /**
   * @throws {AgentUncertainError} an earlier attempt may have run the command, and the runtime does not know it
   * @throws what RemoteRuntime throws
   */
  async sendMessage(
    endpoint: string,
    message: IncomingMessage,
    options: AttemptOptions = {},
  ): Promise<AgentResponse> {
    if (!mayUseShell(this.#settings.allow, message)) {
      await this.#audit('shellRefused', 'FORBIDDEN', message);
      return { success: true, response: REFUSED };
    }
    if (message.editOf !== undefined) return { success: true, response: EDITED };
    const request = shellRequestOf(message);
    if (request.kind === 'help') return { success: true, response: HELP };
    const question = options.store && new ShellQuestion(options.store, this.#deps.clock.now());
    const answer = await question?.answer(message.id, message.text);
    if (answer !== undefined)
      await this.#audit('shellQuestion', answer === 'no' ? 'declined' : 'confirmed', message);
    if (answer === 'no' && /^\s*(yes|no)[.!]?\s*$/i.test(message.text)) {
      return { success: true, response: 'The command was not run.' };
    }
    const isConfirmed = answer !== undefined && answer !== 'no';
    const confirmed: ShellRequest = isConfirmed ? { kind: 'command', command: answer.confirmed } : request;
    if (confirmed.kind === 'command' && !isConfirmed && (await this.#asksFirst(confirmed.command))) {
      return { success: true, response: await this.#ask(question, confirmed.command, message) };
    }
    const response = await this.#withSession(endpoint, message, options, (session) =>
      this.#do(confirmed, session, message, options),
    );
    if (request.kind === 'reset') await this.#deployment(message)?.stop();
    return response;
  }

  agentIdFor(message: IncomingMessage): string | undefined {
    return this.#settings.image === undefined ? undefined : this.#agentIdOf(message);
  }

  async takesFile(message: IncomingMessage): Promise<boolean> {
    return message.media?.kind === 'document' && mayUseShell(this.#settings.allow, message);
  }

  /** What people did not type is never run. */
  readsDescriptions(): boolean {
    return false;
  }

  /** Waits for a command that outlived its turn. */
  async followTask(
    endpoint: string,
    { remoteId, message }: FollowedTask,
    { signal }: { signal: AbortSignal },
  ): Promise<TaskReport> {
    const timeoutMs = this.#timeoutMs();
    try {
      return await this.#withSession(endpoint, message, { signal }, async (session) => {
        const result = session.run('', { requestId: remoteId, isRepeatOnly: true, timeoutMs, signal });
        return { kind: 'end', response: await this.#resultOf(result, session, message) };
      });
    } catch (error) {
      if (error instanceof ShellError && error.fault === 'not-known') {
        const said = say('shell.restarted');
        throw new AgentTaskError('SHELL_RESTARTED', said, said.sentence);
      }
      throw error;
    }
  }

  async preview(message: IncomingMessage, endpoint: string): Promise<Record<string, unknown>> {
    const isAllowed = mayUseShell(this.#settings.allow, message);
    const request = shellRequestOf(message);
    // The patterns are not for the words of others.
    const asks = isAllowed && request.kind === 'command' && (await this.#asksFirst(request.command));
    return { kind: 'shell', url: endpoint, isAllowed, does: request.kind, asksFirst: asks };
  }

  #asksFirst(command: string): Promise<boolean> {
    return needsYes(this.#deps.matcher, command, this.#settings.confirm);
  }

  async #do(
    request: ShellRequest,
    session: ShellSession,
    message: IncomingMessage,
    options: AttemptOptions,
  ): Promise<AgentResponse> {
    const id = requestIdOf(message);
    await options.beforeRequest?.();
    const action = `shell${request.kind[0]?.toUpperCase()}${request.kind.slice(1)}`;
    await this.#audit(action, 'begun', message);
    try {
      if (request.kind === 'reset') {
        await session.close();
        await this.#audit(action, 'ok', message);
        return { success: true, response: 'The session has ended. The next command starts a new one.' };
      }
      const { canReplay } = await session.open(id, options.signal);
      if (request.kind === 'command')
        return await this.#run(request.command, session, canReplay, message, options);
      const shown = await this.#side(request, session, id, options);
      await this.#audit(action, 'ok', message);
      return { success: true, ...shown };
    } catch (error) {
      await this.#audit(action, outcomeOf(error), message);
      if (!(error instanceof ShellError)) throw error;
      attemptLog(this.#deps.log, message, options)?.info({ fault: error.fault }, 'shell reported an error');
      return { success: true, response: monospace(error.forPerson.trim()) };
    }
  }

  /** Everything but a command: it passes a command that runs. */
  async #side(
    request: Exclude<ShellRequest, { kind: 'command' | 'reset' }>,
    session: ShellSession,
    id: string,
    options: AttemptOptions,
  ): Promise<Pick<AgentResponse, 'response' | 'files'>> {
    if (request.kind === 'interrupt') {
      const output = await session.interrupt();
      return output.trim() === '' ? { response: 'Interrupted.' } : this.#shown(output, 'Interrupted.');
    }
    if (request.kind === 'files')
      return this.#shown(await session.list(await session.pathOf(request.path, id)));
    const path = 'path' in request ? await session.pathOf(request.path, id) : '';
    if (request.kind === 'get') {
      const bytes = await session.download(path);
      const fileName = path.split('/').at(-1) ?? 'file';
      return { files: [{ kind: 'document', mimeType: 'application/octet-stream', fileName, bytes }] };
    }
    if (!options.loadMedia) throw new MediaError('MEDIA_GONE', say('media.no-file'));
    const bytes = await options.loadMedia();
    await session.upload(path, bytes);
    return { response: `Stored ${bytes.length} bytes in ${path}` };
  }

  async #run(
    command: string,
    session: ShellSession,
    canReplay: boolean,
    message: IncomingMessage,
    options: AttemptOptions,
  ): Promise<AgentResponse> {
    const requestId = requestIdOf(message);
    const timeoutMs = this.#timeoutMs();
    const isRepeat = (options.isRepeat ?? false) && !options.isCleared;
    if (isRepeat && !canReplay) throw new AgentUncertainError(LOST);
    const { signal } = options;
    const running = session
      .run(command, { requestId, timeoutMs, isRepeatOnly: isRepeat, ...(signal && { signal }) })
      .catch((error: unknown) => {
        const isUnknown = isRepeat && error instanceof ShellError && error.fault === 'not-known';
        throw isUnknown ? new AgentUncertainError(LOST) : error;
      });
    const { store } = options;
    if (canReplay && store) {
      const settled = running.then(
        () => true,
        () => true,
      );
      if (await within(this.#deps.clock, TURN_WAIT_MS, settled))
        return await this.#resultOf(running, session, message);
      // the request goes on, so that the command certainly arrives; the follower gets its result from the runtime
      await store.addTask(requestId);
    } else return await this.#resultOf(running, session, message);
    const response = 'The command runs. You get its output when it has ended; /interrupt stops it.';
    return { success: true, response, task: { remoteId: requestId } };
  }

  /** The response for a command; one that runs too long is interrupted. */
  async #resultOf(
    running: Promise<{ output: string; exitCode: number | undefined }>,
    session: ShellSession,
    message: IncomingMessage,
  ): Promise<AgentResponse> {
    try {
      const { output, exitCode } = await running;
      await this.#audit('shellCommand', `exit ${exitCode ?? 'unknown'}`, message);
      return { success: true, ...this.#shown(output, exitCode ? `exit code ${exitCode}` : undefined) };
    } catch (error) {
      if (!(error instanceof ShellError) || error.fault === 'not-known') throw error;
      await this.#audit('shellCommand', error.fault, message);
      if (error.fault === 'timeout') {
        const output = await session.interrupt();
        const seconds = Math.round(this.#timeoutMs() / 1_000);
        return { success: true, ...this.#shown(output, `Interrupted after ${seconds} s.`) };
      }
      const ending =
        error.fault === 'session-ended'
          ? 'The shell has ended. The next command starts a new one.'
          : undefined;
      return { success: true, ...this.#shown(error.forPerson, ending) };
    }
  }

  async #ask(
    question: ShellQuestion | undefined,
    command: string,
    message: IncomingMessage,
  ): Promise<string> {
    await this.#audit('shellQuestion', question ? 'asked' : 'FORBIDDEN', message);
    if (!question) return 'This command needs a confirmation, which is not possible here. It was not run.';
    await question.ask(command);
    return `${monospace(command)}\nThis command may destroy data. Run it? Answer yes or no.`;
  }

  #shown(output: string, ending?: string): Pick<AgentResponse, 'response' | 'files'> {
    return resultResponse(output, ending, this.#settings.maxOutputChars ?? DEFAULT_OUTPUT_CHARS);
  }

  /** The person's session at the route's runtime, or in the container of the person, which starts when it has to. */
  async #withSession<T>(
    endpoint: string,
    message: AgentUser,
    { signal, notify }: Pick<AttemptOptions, 'signal' | 'notify'>,
    work: (session: ShellSession) => Promise<T>,
  ): Promise<T> {
    const deployment = this.#deployment(message);
    if (deployment) {
      return await deployment.use((runtime) => work(this.#session(runtime, message)), {
        ...(signal && { signal }),
        onSlowStart: async () => notify?.(SLOW_START),
      });
    }
    const { transport, clock } = this.#deps;
    const { token = '' } = this.#settings;
    const runtime = new RemoteRuntime({ url: endpoint, token, transport, clock, startMs: this.#startMs() });
    return await work(this.#session(runtime, message));
  }

  /** The container of this person in this chat; undefined when the route has a runtime. */
  #deployment(sender: AgentUser): DockerDeployment | undefined {
    const { image, env = {}, idleMinutes = DEFAULT_IDLE_MINUTES } = this.#settings;
    if (image === undefined) return undefined;
    const { hosting: host, transport, clock } = this.#deps;
    if (!host) throw new AgentProtocolError(say('shell.no-containers'));
    const { id, accountId } = this.#route;
    return new DockerDeployment({
      ...{ host, transport, clock, image, env, startMs: this.#startMs() },
      container: {
        agentId: this.#agentIdOf(sender),
        ...{ accountId, routeId: id, idleMs: idleMinutes * 60_000, usedBy: nameOfUser(sender, 'person') },
      },
    });
  }

  #agentIdOf({ from, channelId }: AgentUser): string {
    const { id } = this.#route;
    const hash = createHash('sha256')
      .update(JSON.stringify([id, from, channelId]))
      .digest('hex');
    return `shell-${id.slice(0, 8)}-${hash.slice(0, 12)}`.toLowerCase();
  }

  #session(runtime: ShellRuntime, { from, channelId }: AgentUser): ShellSession {
    const { cwd, env } = this.#settings;
    const owner = contractSessionId(from, channelId);
    return new ShellSession(runtime, owner, { ...(cwd !== undefined && { cwd }), ...(env && { env }) });
  }

  #startMs(): number {
    return Math.min(this.#timeoutMs(), 30_000);
  }

  #timeoutMs(): number {
    return this.#settings.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  }

  /** Who did what; the text of the command is in the message log, under the id of the message. */
  async #audit(action: string, outcome: string, message: IncomingMessage): Promise<void> {
    const { audit, clock } = this.#deps;
    await audit?.append([
      {
        at: new Date(clock.now()),
        face: 'shell',
        caller: 'person',
        action,
        object: jidHash(message.accountId ?? '', message.from),
        outcome,
        requestId: message.id,
      },
    ]);
  }
}

function outcomeOf(error: unknown): string {
  if (error instanceof ShellError) return error.fault;
  return error instanceof Wa2aiError ? error.code : 'failed';
}

function requestIdOf({ id, accountId = '', from }: IncomingMessage): string {
  return `${accountId}-${from}-${id}`.replace(/[^\w-]/g, '_');
}

/** WhatsApp shows no longer caption; some of it is for the line about the document. */
const CAPTION_CHARS = 800;

const HELP = [
  'Each message is a command of bash. The session keeps its folder and its variables.',
  '/interrupt – stops the running command',
  '/reset – ends the session; the next command starts a new one',
  '/files [FOLDER] – lists files',
  '/get PATH – sends a file',
  'A document that you send is stored in the folder of the session; its caption may name another path.',
].join('\n');

/** The result of a command: monospace text, or a document when it is long. */
export function resultResponse(
  output: string,
  ending: string | undefined,
  maxChars: number,
): Pick<AgentResponse, 'response' | 'files'> {
  const text = printable(output).trimEnd();
  const lines = [...(text === '' ? [] : [monospace(text)]), ...(ending === undefined ? [] : [ending])];
  if (text === '' && ending === undefined) return { response: '(no output)' };
  if (text.length <= maxChars) return { response: lines.join('\n') };
  const head = cutAtLine(text, CAPTION_CHARS);
  const note = `… ${text.length} characters, all in the document`;
  return {
    response: [monospace(head), note, ...(ending === undefined ? [] : [ending])].join('\n'),
    files: [{ kind: 'document', mimeType: 'text/plain', fileName: 'output.txt', bytes: Buffer.from(text) }],
  };
}

/** As WhatsApp shows code; a fence inside the text would end it. */
function monospace(text: string): string {
  return `\`\`\`${text.replaceAll('```', "'''")}\`\`\``;
}

/** Without control characters; a line that was overwritten with `\r`, as progress bars do, keeps its last form. */
function printable(text: string): string {
  return (
    text
      .replaceAll('\r\n', '\n')
      .split('\n')
      .map(lastForm)
      .join('\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are removed
      .replace(/[\x00-\x08\x0b-\x1f\x7f]/g, '')
  );
}

function lastForm(line: string): string {
  const end = line.endsWith('\r') ? line.length - 2 : line.length;
  return line.slice(line.lastIndexOf('\r', end) + 1);
}

function cutAtLine(text: string, chars: number): string {
  const cut = text.slice(0, chars);
  const end = cut.lastIndexOf('\n');
  return end > chars / 2 ? cut.slice(0, end) : cut;
}

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
      throw new ShellError('timeout', say('shell.busy'), said);
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
    if (exitCode !== 0) throw new ShellError('file', say('shell.file-not-read'), stderr.trim());
    const bytes = Buffer.from(stdout, 'base64');
    if (bytes.length > MAX_MEDIA_BYTES) {
      throw new ShellError(
        'file',
        say('shell.file-too-large'),
        `${path} has more than ${MAX_MEDIA_BYTES} bytes.`,
      );
    }
    if (bytes.length === 0) throw new ShellError('file', say('file.empty'), `${path} is empty.`);
    return bytes;
  }

  upload(path: string, bytes: Uint8Array): Promise<void> {
    if (path.includes('\0')) throw new AgentProtocolError(say('shell.zero-byte'));
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
type ShellRequest =
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
