import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A proxy to a TCP server that a test can interrupt and restore: the server seems to be down, or silent. */
export class TcpProxy {
  readonly #server: Server;
  readonly #pairs = new Set<[Socket, Socket]>();
  /** Connections whose host does not exist any more. */
  readonly #left = new Set<Socket>();
  #state: 'open' | 'cut' | 'silent' = 'open';

  private constructor(target: { host: string; port: number }) {
    this.#server = createServer((near) => {
      if (this.#state === 'cut') {
        near.resetAndDestroy();
        return;
      }
      const far = connect(target.port, target.host);
      const pair: [Socket, Socket] = [near, far];
      this.#pairs.add(pair);
      const end = () => {
        this.#pairs.delete(pair);
        near.destroy();
        far.destroy();
      };
      for (const [from, to] of [pair, [far, near] as const]) {
        from.on('data', (bytes) => {
          if (this.#state !== 'silent') to.write(bytes);
        });
        from.on('error', end);
        from.on('close', end);
      }
    });
  }

  /** A proxy on a free loopback port to the server of a URL. */
  static async to(url: string): Promise<TcpProxy> {
    const { hostname, port } = new URL(url);
    const proxy = new TcpProxy({ host: hostname, port: Number(port) });
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** The URL with this proxy in place of its server. */
  through(url: string): string {
    const { port } = this.#server.address() as AddressInfo;
    const changed = new URL(url);
    changed.host = `127.0.0.1:${port}`;
    return changed.href;
  }

  /** Every connection is reset, new ones too. */
  cut(): void {
    this.#state = 'cut';
    for (const [near] of [...this.#pairs]) near.resetAndDestroy();
  }

  /** Connections stay and nothing comes through, as when a cable is pulled. What was on its way is lost. */
  silence(): void {
    this.#state = 'silent';
  }

  /**
   * As when another host replaces one that vanished: new connections work; earlier ones stay open for their client and
   * silent.
   */
  replace(): void {
    for (const [near, far] of this.#pairs) {
      this.#left.add(
        near
          .removeAllListeners()
          .on('error', () => undefined)
          .resume(),
      );
      far
        .removeAllListeners()
        .on('error', () => undefined)
        .destroy();
    }
    this.#pairs.clear();
    this.#state = 'open';
  }

  /** New connections work; those that missed something are reset. */
  restore(): void {
    if (this.#state === 'silent') this.cut();
    this.#state = 'open';
  }

  async close(): Promise<void> {
    this.cut();
    for (const near of this.#left) near.destroy();
    const closed = once(this.#server, 'close');
    this.#server.close();
    await closed;
  }
}
