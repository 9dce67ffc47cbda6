import { BashSession, type Observation } from './bash-session.ts';
import { CLASSES, RuntimeFault } from './fault.ts';
import { Fields } from './fields.ts';
import { readText, writeText } from './files.ts';
import { runProgram } from './run-program.ts';

const MAX_SESSIONS = 100;

/** What the runtime does, by the path of the request; each takes the JSON body and returns the JSON answer. */
export class Runtime {
  readonly #sessions = new Map<string, BashSession>();
  readonly #hasTerminal: boolean;
  readonly #env: NodeJS.ProcessEnv;

  /** @param env what the programs of sessions get */
  constructor(options: { hasTerminal: boolean; env: NodeJS.ProcessEnv }) {
    this.#hasTerminal = options.hasTerminal;
    this.#env = options.env;
  }

  readonly actions: Record<string, (body: unknown) => Promise<unknown>> = {
    '/create_session': (body) => this.#create(body),
    '/run_in_session': (body) => this.#run(body),
    '/close_session': (body) => this.#close(body),
    '/execute': (body) => this.#execute(body),
    '/read_file': (body) => this.#read(body),
    '/write_file': (body) => this.#write(body),
    '/close': async () => {
      this.closeAll();
      return {};
    },
  };

  /** Ends all sessions. */
  closeAll(): void {
    for (const session of this.#sessions.values()) session.close();
    this.#sessions.clear();
  }

  async #create(body: unknown) {
    const fields = new Fields(body);
    const name = fields.text('session', 'default');
    const files = fields.texts('startup_source');
    const timeout = fields.number('startup_timeout') ?? 1;
    fields.choice('session_type', ['bash'], 'bash');
    fields.check();
    if (this.#session(name)) throw new RuntimeFault(CLASSES.sessionExists, `session ${name} already exists`);
    if (this.#sessions.size >= MAX_SESSIONS) {
      throw new RuntimeFault(
        CLASSES.value,
        `There are ${MAX_SESSIONS} sessions; close one before the next is made.`,
      );
    }
    const starting = BashSession.start({
      hasTerminal: this.#hasTerminal,
      files,
      // a machine that is busy needs longer than the second that clients ask for
      timeout: Math.max(timeout, 10),
      env: this.#env,
    });
    const { session, output } = await starting;
    if (this.#session(name)) {
      session.close();
      throw new RuntimeFault(CLASSES.sessionExists, `session ${name} already exists`);
    }
    this.#sessions.set(name, session);
    return { output, session_type: 'bash' };
  }

  async #run(body: unknown): Promise<Observation> {
    const fields = new Fields(body);
    const type = fields.choice('action_type', ['bash', 'bash_interrupt'], 'bash');
    const name = fields.text('session', 'default');
    const timeout = fields.number('timeout');
    const expect = fields.texts('expect');
    if (type === 'bash_interrupt') {
      const tries = fields.number('n_retry') ?? 3;
      fields.check();
      const action = { session: name, timeout: timeout ?? 0.2, tries, expect };
      return await this.#existing(name).interrupt(action);
    }
    const action = {
      session: name,
      command: fields.text('command'),
      timeout,
      isInteractiveCommand: fields.flag('is_interactive_command'),
      isInteractiveQuit: fields.flag('is_interactive_quit'),
      check: fields.choice('check', ['silent', 'raise', 'ignore'], 'raise'),
      errorMsg: fields.text('error_msg', ''),
      expect,
    };
    fields.check();
    return await this.#existing(name).run(action);
  }

  async #close(body: unknown) {
    const fields = new Fields(body);
    const name = fields.text('session', 'default');
    fields.choice('session_type', ['bash'], 'bash');
    fields.check();
    this.#existing(name).close();
    this.#sessions.delete(name);
    return { session_type: 'bash' };
  }

  async #execute(body: unknown) {
    const fields = new Fields(body);
    const program = {
      command: fields.textOrTexts('command'),
      shell: fields.flag('shell'),
      timeout: fields.number('timeout'),
      check: fields.flag('check'),
      errorMsg: fields.text('error_msg', ''),
      env: fields.optionalTextMap('env') ?? (this.#env as Record<string, string>),
      cwd: fields.optionalText('cwd'),
      mergeOutputStreams: fields.flag('merge_output_streams'),
    };
    fields.check();
    return await runProgram(program);
  }

  async #read(body: unknown) {
    const fields = new Fields(body);
    const path = fields.text('path');
    const encoding = fields.optionalText('encoding');
    const errors = fields.optionalText('errors');
    fields.check();
    return { content: readText(path, encoding, errors) };
  }

  async #write(body: unknown) {
    const fields = new Fields(body);
    const path = fields.text('path');
    const content = fields.text('content');
    fields.check();
    writeText(path, content);
    return {};
  }

  /** A session whose shell lives; one that has ended is forgotten. */
  #session(name: string): BashSession | undefined {
    const session = this.#sessions.get(name);
    if (!session?.isGone) return session;
    session.close();
    this.#sessions.delete(name);
    return undefined;
  }

  #existing(name: string): BashSession {
    const session = this.#session(name);
    if (!session) throw new RuntimeFault(CLASSES.sessionMissing, `session '${name}' does not exist`);
    return session;
  }
}
