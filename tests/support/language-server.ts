import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { repositoryRoot } from './repository.ts';

/** A name in a file: its path from the repository, its line and column from 0. */
export interface Place {
  file: string;
  line: number;
  character: number;
}

interface Answer {
  id?: number;
  method?: string;
  result?: unknown;
}

interface Location {
  uri: string;
  range: { start: { line: number; character: number } };
}

/** TypeScript's language server, which answers what an editor asks for "go to definition". */
export class LanguageServer {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  readonly #opened = new Set<string>();
  /** Answers, by the request: no file changes while the server runs. */
  readonly #found = new Map<string, Promise<Place[]>>();
  #received = Buffer.alloc(0);
  #requests = 0;

  private constructor(program: string) {
    this.#child = spawn(program, ['--lsp', '--stdio'], {
      cwd: repositoryRoot,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#child.stdout?.on('data', (chunk: Buffer) => this.#take(chunk));
  }

  static async start(): Promise<LanguageServer> {
    const path = join(repositoryRoot, 'node_modules/typescript-compiler/lib/getExePath.js');
    const { default: programPath } = await import(pathToFileURL(path).href);
    const server = new LanguageServer(programPath());
    const rootUri = pathToFileURL(repositoryRoot).href;
    await server.#request('initialize', { processId: process.pid, rootUri, capabilities: {} });
    server.#send({ method: 'initialized', params: {} });
    return server;
  }

  /** Where the name at this place is declared: for a method of an interface, in the interface. */
  definitions(place: Place): Promise<Place[]> {
    return this.#find('textDocument/definition', place);
  }

  /** Where the name at this place is implemented: for a method of an interface, in classes and object literals. */
  implementations(place: Place): Promise<Place[]> {
    return this.#find('textDocument/implementation', place);
  }

  stop(): void {
    this.#child.kill();
  }

  #find(method: string, place: Place): Promise<Place[]> {
    const key = JSON.stringify([method, place]);
    const found = this.#found.get(key) ?? this.#ask(method, place);
    this.#found.set(key, found);
    return found;
  }

  async #ask(method: string, { file, ...position }: Place): Promise<Place[]> {
    const { href: uri } = pathToFileURL(join(repositoryRoot, file));
    if (!this.#opened.has(file)) {
      const text = readFileSync(join(repositoryRoot, file), 'utf8');
      const textDocument = { uri, languageId: 'typescript', version: 1, text };
      this.#send({ method: 'textDocument/didOpen', params: { textDocument } });
      this.#opened.add(file);
    }
    const found = await this.#request(method, { textDocument: { uri }, position });
    return ((found ?? []) as Location[]).map(({ uri, range }) => ({
      file: fileURLToPath(uri).slice(repositoryRoot.length).replaceAll('\\', '/').replace(/^\//, ''),
      ...range.start,
    }));
  }

  #request(method: string, params: object): Promise<unknown> {
    this.#requests += 1;
    const id = this.#requests;
    this.#send({ id, method, params });
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  #send(message: object): void {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    this.#child.stdin?.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  }

  #take(chunk: Buffer): void {
    this.#received = Buffer.concat([this.#received, chunk]);
    for (;;) {
      const head = this.#received.indexOf('\r\n\r\n');
      if (head < 0) return;
      const [, bytes] = /Content-Length: (\d+)/i.exec(this.#received.toString('latin1', 0, head)) ?? [];
      const end = head + 4 + Number(bytes);
      if (this.#received.length < end) return;
      const answer: Answer = JSON.parse(this.#received.toString('utf8', head + 4, end));
      this.#received = this.#received.subarray(end);
      if (answer.id === undefined) continue;
      // The server's own requests, about settings, get an empty answer.
      if (answer.method) this.#send({ id: answer.id, result: null });
      else this.#waiting.get(answer.id)?.(answer.result);
    }
  }
}
