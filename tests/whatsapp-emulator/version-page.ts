import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { DEFAULT_CONNECTION_CONFIG } from '@whiskeysockets/baileys';

/**
 * The service worker of WhatsApp Web, which names the current version: at first the one that Baileys has. Events:
 * `request` for each request of it.
 */
export class VersionPage extends EventEmitter<{ request: [] }> {
  /** The last number of the current version; undefined: the page names none. */
  revision: number | undefined = DEFAULT_CONNECTION_CONFIG.version[2];
  /** Status of every answer while set. */
  status?: number;
  /** Redirects every request to here while set. */
  redirect?: string;
  /** Replaces the page while set. */
  body?: string;
  /** Headers of the requests so far, in order. */
  readonly requests: Array<IncomingMessage['headers']> = [];

  /** Answers `GET /sw.js`, and any other request with 404. */
  answer(request: IncomingMessage, response: ServerResponse): void {
    const isPage = request.method === 'GET' && request.url === '/sw.js';
    if (isPage) {
      this.requests.push(request.headers);
      this.emit('request');
    }
    const status = isPage ? (this.status ?? (this.redirect === undefined ? 200 : 302)) : 404;
    const headers = { 'content-type': 'text/javascript', ...(this.redirect && { location: this.redirect }) };
    response.writeHead(status, headers).end(status === 200 ? (this.body ?? this.#page()) : '');
  }

  /** As WhatsApp's: JSON within a string. */
  #page(): string {
    const fields = JSON.stringify({ server_revision: 1, client_revision: this.revision, push_phase: 'C3' });
    return `/*FB_PKG_DELIM*/\nself.__swData=JSON.parse(${JSON.stringify(fields)});\n`;
  }
}
