import { type S3Settings, signedHeaders } from '../../router/src/infra/media/s3-media-store.ts';
import { type StandInAnswer, type StandInRequest, StandInServer } from './stand-in-server.ts';

/** Names of one page of a list, so that tests have several. */
const PAGE = 2;

/** A server with the API of S3, as far as wa2ai uses it. It refuses a request whose signature is wrong. */
export class S3Server {
  readonly settings: S3Settings;
  /** By name. */
  readonly objects = new Map<string, { bytes: Buffer; atMs: number }>();
  /** Set: it answers this status. */
  status: number | undefined;
  /** The time of new objects. */
  nowMs = Date.now();
  readonly #server: StandInServer;

  private constructor(server: StandInServer) {
    this.#server = server;
    this.settings = {
      endpoint: server.url,
      bucket: 'files',
      prefix: 'wa2ai/',
      region: 'eu-test-1',
      accessKeyId: 'AKIDTEST',
      secretAccessKey: 'secret-of-the-bucket',
    };
  }

  static async start(): Promise<S3Server> {
    let server: S3Server | undefined;
    const standIn = await StandInServer.start((request) => server?.answer(request) ?? { status: 500 });
    server = new S3Server(standIn);
    return server;
  }

  get requests(): readonly StandInRequest[] {
    return this.#server.requests;
  }

  answer(request: StandInRequest): StandInAnswer {
    if (this.status !== undefined) return { status: this.status, body: '<Error/>' };
    const { method, path, headers, bytes } = request;
    const url = `${this.#server.url}${path}`;
    const date = String(headers['x-amz-date']);
    const at = date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
    const expected = signedHeaders({ method, url, body: bytes }, this.settings, Date.parse(at));
    if (headers.authorization !== expected.authorization) return { status: 403, body: '<Error/>' };
    const { pathname, searchParams } = new URL(url);
    if (pathname === `/${this.settings.bucket}`) return this.#list(searchParams);
    const name = pathname.slice(this.settings.bucket.length + 2);
    const object = this.objects.get(name);
    if (method === 'PUT') this.objects.set(name, { bytes, atMs: this.nowMs });
    if (method === 'DELETE') this.objects.delete(name);
    if (method !== 'GET') return { status: method === 'DELETE' ? 204 : 200, body: '' };
    return object ? { body: object.bytes } : { status: 404, body: '<Error/>' };
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #list(query: URLSearchParams): StandInAnswer {
    const names = [...this.objects.keys()]
      .filter((name) => name.startsWith(query.get('prefix') ?? ''))
      .sort();
    const token = query.get('continuation-token');
    const from = token === null ? 0 : Number(token.replace('a&b=', ''));
    const contents = names.slice(from, from + PAGE).map((name) => {
      const { bytes, atMs } = this.objects.get(name) ?? { bytes: Buffer.alloc(0), atMs: 0 };
      const time = new Date(atMs).toISOString();
      return `<Contents><Key>${name}</Key><LastModified>${time}</LastModified><Size>${bytes.length}</Size></Contents>`;
    });
    const next =
      from + PAGE < names.length
        ? `<NextContinuationToken>a&amp;b=${from + PAGE}</NextContinuationToken>`
        : '';
    return { body: `<ListBucketResult>${contents.join('')}${next}</ListBucketResult>` };
  }
}
