import type { Command } from 'commander';
import { CliError, CliUsageError, EXIT } from './exit-code.ts';
import { Api } from './service/api.ts';
import { type TargetOptions, targetOf } from './service/target.ts';

/** What a command line program has around it. */
export interface CliHost {
  env: Readonly<Record<string, string | undefined>>;
  /** Standard output. */
  write(text: string): void;
  /** Standard error. */
  writeError(text: string): void;
  /** Whether standard output is a terminal. */
  isTerminal: boolean;
  /** Width of the terminal; undefined: not a terminal. */
  columns: number | undefined;
  /** Epoch milliseconds. */
  now(): number;
  /** Resolves after `ms`, or rejects when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Asks the person for one line; undefined: standard input is not a terminal, so that nobody can answer. */
  ask: ((question: string) => Promise<string>) | undefined;
  /** Aborts when the person ends the program, by Ctrl-C. A command that asks for it ends then with success. */
  untilInterrupted(): AbortSignal;
}

/** Options that every command has. */
interface CommonOptions extends TargetOptions {
  json?: boolean;
  limit?: string;
  cursor?: string;
  yes?: boolean;
}

/** What commands use: the service, output for people and programs, and the exit code. */
export class Cli {
  readonly host: CliHost;
  readonly colours: Colours;
  /** The exit code of the command, unless it throws. */
  exitCode: number = EXIT.success;
  #options: CommonOptions = {};

  constructor(host: CliHost) {
    this.host = host;
    const { NO_COLOR, TERM } = host.env;
    this.colours = new Colours(host.isTerminal && !NO_COLOR && TERM !== 'dumb');
  }

  /** Takes over the common options of the command that runs. */
  use(command: Command): void {
    this.#options = command.optsWithGlobals();
  }

  /** Whether programs read the output: `--json`. */
  get isJson(): boolean {
    return this.#options.json === true;
  }

  /** Which page of a list: `--limit` and `--cursor`. */
  get page(): { limit?: string; cursor?: string } {
    const { limit, cursor } = this.#options;
    return { ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) };
  }

  /** The service that the arguments name. */
  get target(): TargetOptions {
    return this.#options;
  }

  /** The running service. @param address its URL, as an argument instead of `--url` @throws as `targetOf` */
  async api(address?: string): Promise<Api> {
    const options = address === undefined ? this.#options : { ...this.#options, url: address };
    return new Api(await targetOf(options, this.host.env));
  }

  /**
   * Asks before something is deleted or interrupted, unless the command has `--yes`.
   * @param effect what will happen, as a sentence
   * @param word what the person must type; undefined: `y`
   * @throws {CliUsageError} nobody can answer and `--yes` is missing
   * @throws {CliError} the person did not agree
   */
  async confirm(effect: string, word?: string): Promise<void> {
    if (this.#options.yes) return;
    const { ask } = this.host;
    if (!ask) throw new CliUsageError(`${effect} Without a terminal nobody can be asked: add --yes`);
    const answer = (
      await ask(`${effect} ${word === undefined ? 'Continue? [y/N]' : `Type ${word} to continue:`} `)
    ).trim();
    const agrees = word === undefined ? /^(y|yes)$/i.test(answer) : answer === word;
    if (!agrees) throw new CliError('Nothing was changed.');
  }

  /** Prints a result: with `--json` the value as one JSON document, else the text. */
  show(value: unknown, text: () => string): void {
    this.host.write(this.isJson ? `${JSON.stringify(value, null, 2)}\n` : `${text()}\n`);
  }

  /** Prints one of many results immediately: with `--json` as one line of JSON. */
  showLine(value: unknown, text: () => string): void {
    this.host.write(this.isJson ? `${JSON.stringify(value)}\n` : `${text()}\n`);
  }

  /** Says something to the person, beside the result. */
  say(sentence: string): void {
    this.host.writeError(`${sentence}\n`);
  }
}

const CODES = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 } as const;

/** Colours of a terminal, or none. */
class Colours {
  readonly isOn: boolean;

  constructor(isOn: boolean) {
    this.isOn = isOn;
  }

  paint(colour: keyof typeof CODES, text: string): string {
    return this.isOn ? `\u001b[${CODES[colour]}m${text}\u001b[0m` : text;
  }

  /** A state in green when it is good, yellow when a person should look, red when it is bad. */
  state(text: string, mood: 'good' | 'look' | 'bad'): string {
    return this.paint(mood === 'good' ? 'green' : mood === 'look' ? 'yellow' : 'red', text);
  }
}
