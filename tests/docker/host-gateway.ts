import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { run } from './command.ts';

/** What containers call this machine; docker-compose.yml gives them the name. */
const HOST = 'host.docker.internal';
/** The one image of docker-compose.yml that is not built. */
const IMAGE_WITH_GETENT = 'postgres:18-bookworm';

/** A certificate for `host.docker.internal`, made for one test run. */
export interface Certificate {
  /** Path of the certificate, which signed itself. */
  readonly file: string;
  readonly key: string;
  readonly cert: string;
}

/** Makes a certificate with openssl, which must be installed. */
export async function makeCertificate(folder: string): Promise<Certificate> {
  const file = join(folder, 'certificate.pem');
  const keyFile = join(folder, 'key.pem');
  await run('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'],
    ...['-subj', `/CN=${HOST}`, '-addext', `subjectAltName=DNS:${HOST}`, '-keyout', keyFile, '-out', file],
  ]);
  return { file, key: readFileSync(keyFile, 'utf8'), cert: readFileSync(file, 'utf8') };
}

/** Forwards connections of containers to a server that listens on this machine's loopback only. */
export class HostGateway {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Starts forwarding to the server of a URL; with a certificate it accepts TLS. */
  static async to(url: string, certificate?: Certificate): Promise<HostGateway> {
    const { hostname, port } = new URL(url);
    const join = (near: Socket) => {
      const far = connect(Number(port), hostname);
      for (const socket of [near, far]) {
        gateway.#sockets.add(socket);
        socket.on('error', () => undefined);
        socket.once('close', () => {
          gateway.#sockets.delete(socket);
          near.destroy();
          far.destroy();
        });
      }
      near.pipe(far).pipe(near);
    };
    const server = certificate
      ? createTlsServer({ key: certificate.key, cert: certificate.cert }, join)
      : createTcpServer(join);
    const gateway = new HostGateway(server);
    server.listen(0, await hostAddress());
    await once(server, 'listening');
    return gateway;
  }

  /** The URL as containers call it. */
  seenFromContainers(protocol: string, path = ''): string {
    return `${protocol}://${HOST}:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

/**
 * The address behind the name in containers. On Linux it is an address of this machine that only containers reach.
 * Elsewhere the engine runs in a virtual machine, whose connections to its host go to loopback.
 */
async function hostAddress(): Promise<string> {
  const found = await run('docker', [
    ...['run', '--rm', '--add-host', `${HOST}:host-gateway`, '--entrypoint', 'getent', IMAGE_WITH_GETENT],
    ...['ahostsv4', HOST],
  ]);
  const address = found.split(/\s/)[0] ?? '';
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return own.some((each) => each.address === address) ? address : '127.0.0.1';
}
