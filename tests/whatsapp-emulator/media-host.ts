import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BinaryNode, normalizeMessageContent, proto } from '@whiskeysockets/baileys';
import { makeTestCertificate } from './certificate.ts';
import { decryptFile, encryptFile, type MediaType, openRetry, sealRetry, sha256 } from './media-crypto.ts';
import { childBytes, node } from './nodes.ts';

/** Faults of the host; counters decrease as they are used. */
export interface MediaFaults {
  /** Status of every download while set. */
  downloadStatus?: number;
  /** Downloads that stop after the headers and half of the file. */
  stalledDownloads: number;
  /** Downloads whose bytes have one bit turned. */
  corruptedDownloads: number;
  /** Uploads answered with 500 and no JSON. */
  failedUploads: number;
}

/** Properties of a sent file. */
export interface SentFileOptions {
  mimeType?: string;
  caption?: string;
  fileName?: string;
  isVoice?: boolean;
  /** The size stated in the message; default the true size. */
  claimedBytes?: number;
  /** The host stated in the message, which a client must not use; default this one. */
  claimedHost?: string;
}

const UPLOAD = /^\/mms\/(image|video|document|audio)\/([A-Za-z0-9_-]{43})$/;
const MAX_UPLOAD_BYTES = 64 * 1024 * 1024;

/**
 * WhatsApp's media servers on loopback, over TLS with a self-signed certificate: files go up with the token that
 * `media_conn` gave, and down by their path. Clients trust it through NODE_EXTRA_CA_CERTS = `caFile`.
 */
export class MediaHost {
  /** `127.0.0.1:PORT`. */
  readonly hostname: string;
  /** What `media_conn` names instead, while set. */
  announced: string | undefined;
  /** PEM file of the certificate. */
  readonly caFile: string;
  readonly faults: MediaFaults = { stalledDownloads: 0, corruptedDownloads: 0, failedUploads: 0 };
  /** Requested paths, in order. */
  readonly downloads: string[] = [];
  /** Paths of uploads, in order; repeated uploads count again. */
  readonly uploads: string[] = [];
  readonly #server: Server;
  readonly #folder: string;
  readonly #files = new Map<string, Buffer>();
  /** Files that phones still have, by the key of the file. */
  readonly #originals = new Map<Buffer, Buffer>();
  readonly #auth = randomBytes(24).toString('base64url');

  private constructor(server: Server, folder: string, caFile: string) {
    this.#server = server;
    this.#folder = folder;
    this.caFile = caFile;
    this.hostname = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(): Promise<MediaHost> {
    const certificate = makeTestCertificate();
    const folder = await mkdtemp(join(tmpdir(), 'wa2ai-media-host-'));
    const caFile = join(folder, 'test-only-ca.pem');
    await writeFile(caFile, certificate.cert);
    const server = createServer(certificate);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    const host = new MediaHost(server, folder, caFile);
    server.on('request', (request, response) => {
      host.#answer(request, response).catch(() => response.destroy());
    });
    return host;
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** The response to a client's `media_conn` query. */
  connectionNode(): BinaryNode {
    const hostname = this.announced ?? this.hostname;
    return node('media_conn', { auth: this.#auth, ttl: '300', auth_ttl: '300', max_buckets: '12' }, [
      node('host', { hostname, maxContentLengthBytes: '104857600' }),
    ]);
  }

  /** Encrypts a file, uploads it as a phone would, and returns the message with it. */
  message(kind: MediaType | 'sticker', bytes: Uint8Array, options: SentFileOptions = {}): proto.IMessage {
    const file = encryptFile(bytes, kind === 'sticker' ? 'image' : kind);
    const directPath = `/v/t62.7118-24/${randomBytes(12).toString('hex')}.enc?ccb=11-4`;
    this.#files.set(directPath, file.encrypted);
    this.#originals.set(file.mediaKey, file.encrypted);
    const { mediaKey, fileSha256, fileEncSha256 } = file;
    const common = {
      url: `https://${options.claimedHost ?? this.hostname}${directPath}`,
      directPath,
      mediaKey,
      fileSha256,
      fileEncSha256,
      fileLength: options.claimedBytes ?? file.fileLength,
      mediaKeyTimestamp: Math.floor(Date.now() / 1000),
    };
    const { caption, fileName, mimeType } = options;
    switch (kind) {
      case 'image':
        return { imageMessage: { ...common, caption, mimetype: mimeType ?? 'image/jpeg' } };
      case 'video':
        return { videoMessage: { ...common, caption, mimetype: mimeType ?? 'video/mp4' } };
      case 'sticker':
        return { stickerMessage: { ...common, mimetype: mimeType ?? 'image/webp' } };
      case 'audio':
        return {
          audioMessage: {
            ...common,
            ptt: options.isVoice ?? false,
            mimetype: mimeType ?? 'audio/ogg; codecs=opus',
          },
        };
      case 'document': {
        const documentMessage = {
          ...common,
          caption,
          fileName,
          mimetype: mimeType ?? 'application/octet-stream',
        };
        return caption
          ? { documentWithCaptionMessage: { message: { documentMessage } } }
          : { documentMessage };
      }
    }
  }

  /** Deletes a file from the host, as WhatsApp does after some weeks; phones still have it. */
  expire(message: proto.IMessage): void {
    this.#files.delete(mediaOf(message).directPath);
  }

  /** Deletes the file everywhere. */
  forget(message: proto.IMessage): void {
    this.expire(message);
    const { mediaKey } = mediaOf(message);
    for (const key of this.#originals.keys()) if (key.equals(mediaKey)) this.#originals.delete(key);
  }

  /** A phone's response to a media retry request: it uploads the file again, or does not have it. */
  answerRetry(id: string, request: BinaryNode | undefined): BinaryNode {
    const ciphertext = childBytes(request, 'enc_p');
    const iv = childBytes(request, 'enc_iv');
    for (const [mediaKey, encrypted] of this.#originals) {
      try {
        openRetry(ciphertext ?? Buffer.alloc(16), iv ?? Buffer.alloc(12), mediaKey, id);
      } catch {
        continue;
      }
      const directPath = `/v/t62.7118-24/${randomBytes(12).toString('hex')}.enc?ccb=11-4`;
      this.#files.set(directPath, encrypted);
      const notice = { stanzaId: id, directPath, result: proto.MediaRetryNotification.ResultType.SUCCESS };
      const sealed = sealRetry(proto.MediaRetryNotification.encode(notice).finish(), mediaKey, id);
      return node('encrypt', {}, [node('enc_p', {}, sealed.ciphertext), node('enc_iv', {}, sealed.iv)]);
    }
    return node('error', { code: `${proto.MediaRetryNotification.ResultType.NOT_FOUND}` });
  }

  /** The content of a received file as the person sees it. @throws when it is missing or differs from the message */
  open(message: proto.IMessage): Buffer {
    const { type, mediaKey, directPath, fileSha256, fileEncSha256, fileLength } = mediaOf(message);
    const encrypted = this.#files.get(directPath);
    if (!encrypted) throw new Error(`the media host has no file ${directPath}`);
    if (!sha256(encrypted).equals(fileEncSha256)) throw new Error('the encrypted file has another hash');
    const bytes = decryptFile(encrypted, mediaKey, type);
    if (!sha256(bytes).equals(fileSha256)) throw new Error('the file has another hash');
    if (bytes.length !== fileLength) throw new Error('the file has another length');
    return bytes;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', `https://${this.hostname}`);
    if (request.method === 'GET') return this.#download(`${url.pathname}${url.search}`, response);
    const token = request.method === 'POST' ? UPLOAD.exec(url.pathname)?.[2] : undefined;
    if (!token) return void response.writeHead(404).end();
    if (url.searchParams.get('auth') !== this.#auth || url.searchParams.get('token') !== token) {
      return void response.writeHead(401).end('{"error":"bad auth"}');
    }
    const body = await bodyOf(request);
    if (this.faults.failedUploads > 0) {
      this.faults.failedUploads -= 1;
      return void response.writeHead(500).end();
    }
    // The token is the hash of the upload, so that it cannot be replaced.
    if (sha256(body).toString('base64url') !== token) return void response.writeHead(400).end('{}');
    const directPath = `/v/t62.7118-24/${token}.enc?ccb=11-4`;
    this.#files.set(directPath, body);
    this.uploads.push(directPath);
    const answer = { url: `https://${this.hostname}${directPath}`, direct_path: directPath };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  }

  #download(path: string, response: ServerResponse): void {
    this.downloads.push(path);
    const { faults } = this;
    const bytes = this.#files.get(path);
    if (faults.downloadStatus || !bytes) return void response.writeHead(faults.downloadStatus ?? 404).end();
    if (faults.stalledDownloads > 0) {
      faults.stalledDownloads -= 1;
      response.writeHead(200, { 'content-length': bytes.length });
      response.write(bytes.subarray(0, bytes.length / 2));
      return;
    }
    const sent = Buffer.from(bytes);
    if (faults.corruptedDownloads > 0) {
      faults.corruptedDownloads -= 1;
      sent[0] = (sent[0] ?? 0) ^ 1;
    }
    response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(sent);
  }
}

/** The file that a message carries. @throws when it carries none */
function mediaOf(message: proto.IMessage) {
  const content = normalizeMessageContent(message);
  const found: Array<[MediaType, proto.Message.IImageMessage | null | undefined]> = [
    ['image', content?.imageMessage],
    ['video', content?.videoMessage],
    ['audio', content?.audioMessage],
    ['document', content?.documentMessage],
    ['image', content?.stickerMessage],
  ];
  for (const [type, media] of found) {
    if (!media?.mediaKey || !media.directPath || !media.fileSha256 || !media.fileEncSha256) continue;
    const { mediaKey, directPath, fileSha256, fileEncSha256, fileLength } = media;
    return { type, mediaKey, directPath, fileSha256, fileEncSha256, fileLength: Number(fileLength) };
  }
  throw new Error('the message carries no file');
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_UPLOAD_BYTES) throw new Error('the upload is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
