import { createHash, createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A push notification as it arrived. */
export interface Pushed {
  headers: IncomingHttpHeaders;
  /** The exact bytes. */
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of both versions
  body: any;
}

/** The program's server for push notifications. */
export class PushReceiver {
  readonly url: string;
  /** What was answered with 200, in order. */
  readonly taken: Pushed[] = [];
  /** Everything that arrived, in order. */
  readonly all: Pushed[] = [];
  /** The status of the next answers; then 200. */
  statuses: number[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    server.on('request', async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      const pushed = { headers: request.headers, text, body: JSON.parse(text) };
      const status = this.statuses.shift() ?? 200;
      this.all.push(pushed);
      if (status === 200) this.taken.push(pushed);
      response.writeHead(status).end();
    });
  }

  static async start(): Promise<PushReceiver> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new PushReceiver(server);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Whether a notification is signed by a key of this set (RFC 7517) over exactly its body. */
export function isSignedBy({ keys }: { keys: JsonWebKey[] }, { headers, text }: Pushed): boolean {
  const [header = '', claims = '', signature = ''] = String(headers['x-wa2ai-signature']).split('.');
  const read = (part: string): Record<string, unknown> =>
    JSON.parse(Buffer.from(part, 'base64url').toString());
  const jwk = keys.find(({ kid }) => kid === read(header).kid);
  if (!jwk) return false;
  const key = { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' as const };
  const isSigned = verify(
    'sha256',
    Buffer.from(`${header}.${claims}`),
    key,
    Buffer.from(signature, 'base64url'),
  );
  return isSigned && read(claims).request_body_sha256 === createHash('sha256').update(text).digest('hex');
}
