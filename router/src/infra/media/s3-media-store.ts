import { createHash, createHmac } from 'node:crypto';
import { type Clock, withLimit } from '../../core/clock.ts';
import { MediaError } from '../../core/errors.ts';
import { MAX_MEDIA_BYTES } from '../../core/models.ts';
import { say } from '../../core/phrases.ts';
import type { ListedFile, MediaStore } from '../../core/ports/media.ts';
import { withoutTrailing } from '../../core/text.ts';
import type { AgentTransport } from '../agents/transport/agent-transport.ts';
import { checkHash, isLocation, newLocation } from './disk-media-store.ts';

const TIMEOUT_MS = 30_000;
const MAX_LIST_BYTES = 4 * 1024 * 1024;

export interface S3Settings extends S3Keys {
  /** URL of the server; the bucket is the first part of the path. */
  endpoint: string;
  bucket: string;
  /** Before each name, such as `wa2ai/`; may be empty. */
  prefix: string;
}

interface S3MediaStoreDeps {
  transport: AgentTransport;
  clock: Clock;
}

/** Files in a bucket of a server with the API of S3. */
export class S3MediaStore implements MediaStore {
  readonly name = 's3';
  readonly #settings: S3Settings;
  readonly #deps: S3MediaStoreDeps;

  constructor(settings: S3Settings, deps: S3MediaStoreDeps) {
    this.#settings = settings;
    this.#deps = deps;
  }

  async put(bytes: Uint8Array): Promise<string> {
    const location = newLocation(bytes);
    await this.#ask('PUT', this.#urlOf(location), { body: bytes });
    return location;
  }

  async get(location: string): Promise<Uint8Array> {
    return checkHash(location, await this.#ask('GET', this.#urlOf(location), { maxBytes: MAX_MEDIA_BYTES }));
  }

  async remove(location: string): Promise<void> {
    await this.#ask('DELETE', this.#urlOf(location));
  }

  async *list(): AsyncGenerator<ListedFile> {
    const { prefix } = this.#settings;
    let after: string | undefined;
    do {
      const url = new URL(this.#bucketUrl());
      url.searchParams.set('list-type', '2');
      url.searchParams.set('prefix', prefix);
      if (after !== undefined) url.searchParams.set('continuation-token', after);
      const page = (await this.#ask('GET', url.href, { maxBytes: MAX_LIST_BYTES })).toString('utf8');
      for (const content of page.split('<Contents>').slice(1)) {
        const location = (textIn(content, 'Key') ?? '').slice(prefix.length);
        if (!isLocation(location)) continue;
        const storedAtMs = Date.parse(textIn(content, 'LastModified') ?? '');
        yield { location, sizeBytes: Number(textIn(content, 'Size')), storedAtMs };
      }
      after = textIn(page, 'NextContinuationToken');
    } while (after !== undefined);
  }

  /** @throws {MediaError} */
  async #ask(
    method: 'GET' | 'PUT' | 'DELETE',
    url: string,
    { body, maxBytes = 64 * 1024 }: { body?: Uint8Array; maxBytes?: number } = {},
  ): Promise<Buffer> {
    const { transport, clock } = this.#deps;
    const headers = signedHeaders({ method, url, ...(body && { body }) }, this.#settings, clock.now());
    const fetched = await withLimit(clock, TIMEOUT_MS, undefined, (signal) =>
      transport.fetch(url, {
        method,
        headers: new Headers(headers),
        signal,
        maxBytes,
        ...(body && { body }),
      }),
    );
    // Neither sentence has words of the server, which may quote the request.
    if (fetched.kind === 'fault') {
      throw new MediaError('MEDIA_UNAVAILABLE', say('media.s3-unusable', { why: fetched.fault }));
    }
    const { status } = fetched;
    if (status >= 200 && status <= 299) return fetched.body;
    if (status === 404 && method === 'DELETE') return fetched.body;
    if (status === 404 && method === 'GET') {
      throw new MediaError('MEDIA_GONE', say('media.not-in-bucket'));
    }
    throw new MediaError('MEDIA_UNAVAILABLE', say('media.s3-status', { status }));
  }

  #urlOf(location: string): string {
    return `${this.#bucketUrl()}/${this.#settings.prefix}${location}`;
  }

  #bucketUrl(): string {
    const { endpoint, bucket } = this.#settings;
    return `${withoutTrailing(endpoint, '/')}/${bucket}`;
  }
}

function textIn(xml: string, name: string): string | undefined {
  const start = xml.indexOf(`<${name}>`);
  const from = start + name.length + 2;
  const end = start < 0 ? -1 : xml.indexOf(`</${name}>`, from);
  const text = end < 0 ? undefined : xml.slice(from, end);
  return text
    ?.replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');
}

/** What a request to S3 is signed with. */
interface S3Keys {
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}

/** The service name in the scope of a signature. */
const SERVICE = 's3';

/**
 * The headers of a request to S3 with its signature (AWS Signature Version 4).
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
 * @param request.headers names in small letters; `host` comes from the URL
 * @param atMs time of the request, epoch milliseconds
 */
export function signedHeaders(
  request: { method: string; url: string; headers?: Record<string, string>; body?: Uint8Array },
  { region, accessKeyId, secretAccessKey }: S3Keys,
  atMs: number,
): Record<string, string> {
  const url = new URL(request.url);
  const time = new Date(atMs).toISOString().replace(/[:-]|\.\d{3}/g, '');
  const day = time.slice(0, 8);
  const payload = sha256(request.body ?? new Uint8Array());
  const sent = { ...request.headers, 'x-amz-content-sha256': payload, 'x-amz-date': time };
  const signed = Object.entries({ ...sent, host: url.host }).sort(([a], [b]) => (a < b ? -1 : 1));
  const names = signed.map(([name]) => name).join(';');
  const canonical = [
    request.method,
    url.pathname
      .split('/')
      .map((part) => encoded(decodeURIComponent(part)))
      .join('/'),
    queryOf(url),
    ...signed.map(([name, value]) => `${name}:${value.trim()}`),
    '',
    names,
    payload,
  ].join('\n');
  const scope = `${day}/${region}/${SERVICE}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const key = [day, region, SERVICE, 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${secretAccessKey}`,
  );
  const signature = createHmac('sha256', key).update(text).digest('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope},SignedHeaders=${names},Signature=${signature}`;
  return { ...sent, authorization };
}

function queryOf(url: URL): string {
  return [...url.searchParams]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort((a, b) => (a < b ? -1 : 1))
    .join('&');
}

/** As RFC 3986 says: everything but letters, digits and `-._~`. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}
