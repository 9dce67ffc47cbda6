import { createHash, createHmac } from 'node:crypto';

/** What a request to S3 is signed with. */
export interface S3Keys {
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
