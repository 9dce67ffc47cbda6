import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** One statement as it passed on the wire; times are in milliseconds of `performance.now()`. */
export interface PassedStatement {
  text: string;
  startMs: number;
  /** When the server was ready for the next one. */
  endMs: number;
}

/**
 * A proxy to PostgreSQL that records each statement on its way (frontend messages Parse, Bind, Execute and Query of
 * PostgreSQL's protocol 3.0), so that a count does not depend on extensions or on the machine.
 */
export class StatementTap {
  readonly #server: Server;
  #statements: PassedStatement[] = [];

  private constructor(target: { host: string; port: number }) {
    this.#server = createServer((near) => {
      const far = connect(target.port, target.host);
      const waiting: Array<{ text: string; startMs: number }> = [];
      const isFrontend = frontendReader((text) => waiting.push({ text, startMs: performance.now() }));
      const isBackend = backendReader(() => {
        const endMs = performance.now();
        for (const statement of waiting.splice(0)) this.#statements.push({ ...statement, endMs });
      });
      relay(near, far, isFrontend);
      relay(far, near, isBackend);
    });
  }

  /** A tap on a free loopback port before the server of a URL. */
  static async before(url: string): Promise<StatementTap> {
    const { hostname, port } = new URL(url);
    const tap = new StatementTap({ host: hostname, port: Number(port) });
    tap.#server.listen(0, '127.0.0.1');
    await once(tap.#server, 'listening');
    return tap;
  }

  /** The URL with this tap in place of its server. */
  through(url: string): string {
    const changed = new URL(url);
    changed.host = `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return changed.href;
  }

  /** The statements that ended since the last call, in the order of their end. */
  take(): PassedStatement[] {
    const passed = this.#statements;
    this.#statements = [];
    return passed;
  }

  /** Accepts no more connections; those that exist stay until one side ends them. */
  stop(): void {
    this.#server.close();
  }
}

function relay(from: Socket, to: Socket, read: (bytes: Buffer) => void): void {
  from.on('data', (bytes: Buffer) => {
    read(bytes);
    to.write(bytes);
  });
  from.on('error', () => to.destroy());
  from.on('close', () => to.destroy());
}

/** Calls `onStatement` for each Query and each Execute, with the text of its statement. */
function frontendReader(onStatement: (text: string) => void): (bytes: Buffer) => void {
  const prepared = new Map<string, string>();
  let bound = '';
  let isStarted = false;
  return messages(
    (type, body) => {
      if (type === 'Q') onStatement(textAt(body, 0).text);
      else if (type === 'P') {
        const name = textAt(body, 0);
        prepared.set(name.text, textAt(body, name.end).text);
      } else if (type === 'B') bound = prepared.get(textAt(body, textAt(body, 0).end).text) ?? '';
      else if (type === 'E') onStatement(bound);
    },
    () => {
      // the first message of a connection has no type
      const hasType = isStarted;
      isStarted = true;
      return hasType;
    },
  );
}

/** Calls `onReady` at each ReadyForQuery. */
function backendReader(onReady: () => void): (bytes: Buffer) => void {
  return messages(
    (type) => type === 'Z' && onReady(),
    () => true,
  );
}

/** Cuts a byte stream into PostgreSQL's messages: a type of one byte, and a length that counts itself and the body. */
function messages(
  onMessage: (type: string, body: Buffer) => void,
  hasType: () => boolean,
): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let typeBytes: number | undefined;
  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    for (;;) {
      typeBytes ??= hasType() ? 1 : 0;
      if (rest.length < typeBytes + 4) return;
      const length = rest.readUInt32BE(typeBytes);
      const end = typeBytes + length;
      if (rest.length < end) return;
      if (typeBytes === 1) onMessage(String.fromCharCode(rest[0] ?? 0), rest.subarray(5, end));
      rest = rest.subarray(end);
      typeBytes = undefined;
    }
  };
}

function textAt(bytes: Buffer, from: number): { text: string; end: number } {
  const zero = bytes.indexOf(0, from);
  return { text: bytes.toString('utf8', from, zero), end: zero + 1 };
}
