import type { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import pg from 'pg';

/** Values of `sslmode` that libpq knows. */
const MODES = new Set(['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full']);

/**
 * A connection with the TLS that libpq makes of `sslmode` and `sslrootcert` in `connectionString`. pg verifies the
 * certificate in every mode but `disable`, and never goes on without TLS.
 * - `prefer` and `allow`: TLS without verification when the server offers it, else none. libpq's `allow` tries without TLS
 *   first; the servers that can be reached are the same.
 * - `require`: TLS without verification; with `sslrootcert` as `verify-ca`
 * - `verify-ca`: the certificate must be signed by `sslrootcert`
 * - `verify-full`: the certificate must also be for the host. Without `sslrootcert`, or with `system`, the signers are those
 *   of Node.js, and `verify-ca` and `require` with `system` also verify the host: anybody can have a certificate of theirs.
 *
 * Without `sslmode` there is no TLS.
 * @see https://www.postgresql.org/docs/current/libpq-ssl.html
 */
export class PostgresClient extends pg.Client {
  constructor(config: pg.ClientConfig = {}) {
    const { url, mayBePlain } = libpqUrl(config.connectionString);
    super({ ...config, ...(url !== undefined && { connectionString: url }) });
    if (mayBePlain) continueWithoutTls(this.connection as unknown as Wire);
  }
}

/** The URL as pg must read it. */
function libpqUrl(text: string | undefined): { url?: string; mayBePlain: boolean } {
  if (text === undefined || !URL.canParse(text)) return { mayBePlain: false };
  const url = new URL(text);
  const parameters = url.searchParams;
  const mode = parameters.get('sslmode') ?? '';
  if (!MODES.has(mode)) return { mayBePlain: false };
  const isSystem = parameters.get('sslrootcert') === 'system';
  if (isSystem) parameters.delete('sslrootcert');
  const hasSigner = parameters.has('sslrootcert');
  const mayBePlain = (mode === 'prefer' || mode === 'allow') && !isSystem;
  if (mayBePlain) parameters.set('sslmode', 'prefer');
  else if (mode !== 'disable' && (isSystem || (mode === 'verify-ca' && !hasSigner)))
    parameters.set('sslmode', 'verify-full');
  parameters.set('uselibpqcompat', 'true');
  return { url: url.href, mayBePlain };
}

/** What pg's connection has beside its types. */
interface Wire extends EventEmitter {
  stream: Duplex;
  ssl: unknown;
  attachListeners(stream: Duplex): void;
}

/** The protocol goes on without TLS on the same connection after the server has refused it with `N`; pg ends it. */
function continueWithoutTls(wire: Wire): void {
  wire.once('connect', () => {
    const { stream } = wire;
    const [upgrade] = stream.rawListeners('data');
    if (!wire.ssl || !upgrade) return;
    stream.removeAllListeners('data');
    stream.once('data', (answer: Buffer) => {
      if (answer.toString('latin1') !== 'N') {
        Reflect.apply(upgrade, stream, [answer]);
        return;
      }
      wire.ssl = false;
      wire.attachListeners(stream);
      wire.emit('sslconnect');
    });
  });
}
