import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { repositoryRoot } from '../support/repository.ts';
import { run } from './command.ts';

/** This machine's name in containers, from docker-compose.yml. */
const HOST = 'host.docker.internal';
/** The one image of docker-compose.yml that is not built. */
const IMAGE_WITH_GETENT =
  /image: (postgres:\S+)/.exec(readFileSync(join(repositoryRoot, 'docker-compose.yml'), 'utf8'))?.[1] ?? '';

/** A certificate for `host.docker.internal`, made for one test run. */
export interface Certificate {
  /** Path of the self-signed certificate. */
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

  /** Starts forwarding to the server of a URL. With a certificate the connections of containers use TLS. */
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
    await listen(server, await addressSeenFromContainers());
    return gateway;
  }

  /** The URL of the gateway for containers. */
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

/** The address that `host.docker.internal` has in containers. */
async function addressSeenFromContainers(): Promise<string> {
  const found = await run('docker', [
    ...['run', '--rm', '--add-host', `${HOST}:host-gateway`, '--entrypoint', 'getent', IMAGE_WITH_GETENT],
    ...['ahostsv4', HOST],
  ]);
  return found.split(/\s/)[0] ?? '';
}

/**
 * Listens on this address, which only containers reach, or on loopback: if the engine runs in a virtual machine, the
 * address is not one of this machine, and connections to it go to this machine's loopback. Only an attempt shows which:
 * Node does not list the engine's bridge while no container is attached to it.
 */
async function listen(server: Server, address: string): Promise<void> {
  try {
    server.listen(0, address);
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRNOTAVAIL') throw error;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
}
