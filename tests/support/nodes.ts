import type { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import type { Phone } from '../whatsapp-emulator/phone.ts';
import { until } from './until.ts';
import type { Wa2aiProcess } from './wa2ai-process.ts';

/** A node as `/api/nodes` shows it. */
export interface ShownNode {
  nodeId: string;
  state: string;
  turns: number;
  accounts: Array<{ accountId: string; epoch: string }>;
}

/** Several wa2ai processes on one database and one WhatsApp, by their names. */
export class Nodes {
  readonly #emulator: WhatsAppEmulator;
  readonly #start: (name: string) => Promise<Wa2aiProcess>;
  readonly #running = new Map<string, Wa2aiProcess>();

  /** @param start gives the process of a node, once it is ready */
  constructor(emulator: WhatsAppEmulator, start: (name: string) => Promise<Wa2aiProcess>) {
    this.#emulator = emulator;
    this.#start = start;
  }

  /** Starts nodes at the same moment; resolves when all are ready. Those that are ready count though another fails. */
  async addAll(names: readonly string[]): Promise<void> {
    const starts = await Promise.allSettled(names.map((name) => this.add(name)));
    for (const start of starts) if (start.status === 'rejected') throw start.reason;
  }

  async add(name: string): Promise<Wa2aiProcess> {
    const service = await this.#start(name);
    this.#running.set(name, service);
    return service;
  }

  node(name: string): Wa2aiProcess {
    const service = this.#running.get(name);
    if (!service) throw new Error(`node ${name} is not started`);
    return service;
  }

  /** Any node that runs, other than the named ones. */
  any(...except: string[]): Wa2aiProcess {
    const [service] = [...this.#running].filter(([name]) => !except.includes(name)).map(([, each]) => each);
    if (!service) throw new Error('no node is started');
    return service;
  }

  /** Ends a node and forgets it. */
  async end(name: string, signal?: NodeJS.Signals): Promise<number | null> {
    const service = this.node(name);
    this.#running.delete(name);
    return service.end(signal);
  }

  /** Ends all nodes at once and forgets them. */
  async endAll(signal: NodeJS.Signals): Promise<void> {
    await Promise.all([...this.#running.keys()].map((name) => this.end(name, signal)));
  }

  async shown(via: Wa2aiProcess = this.any()): Promise<ShownNode[]> {
    const { body } = await via.api('GET', '/api/nodes');
    return body.data as ShownNode[];
  }

  /** Names of the nodes that own the account, as one node sees it. */
  async ownersOf(accountId = 'default', via: Wa2aiProcess = this.any()): Promise<string[]> {
    const owns = (node: ShownNode) => node.accounts.some((account) => account.accountId === accountId);
    return (await this.shown(via)).filter(owns).map(({ nodeId }) => nodeId);
  }

  /** The epoch of a node's lease of the account. @throws {Error} it has no lease */
  async epochOf(accountId: string, name: string): Promise<string> {
    const node = (await this.shown(this.node(name))).find(({ nodeId }) => nodeId === name);
    const account = node?.accounts.find((each) => each.accountId === accountId);
    if (!account) throw new Error(`node ${name} does not own ${accountId}`);
    return account.epoch;
  }

  /** Resolves with the node that owns the account, once there is one that is not excluded. */
  untilOwned(accountId = 'default', except: string[] = [], via?: Wa2aiProcess): Promise<string> {
    return until(`a node that owns ${accountId}`, async () => {
      const [owner] = await this.ownersOf(accountId, via ?? this.any(...except));
      return owner !== undefined && !except.includes(owner) ? owner : undefined;
    });
  }

  /** Resolves with the epoch of the account's lease, once some node has it. */
  untilEpoch(accountId = 'default'): Promise<number> {
    return until(`an owner of ${accountId}`, async () => {
      const held = (await this.shown()).flatMap(({ accounts }) => accounts);
      const epoch = held.find((account) => account.accountId === accountId)?.epoch;
      return epoch === undefined ? undefined : Number(epoch);
    });
  }

  async account(accountId = 'default', via: Wa2aiProcess = this.any()): Promise<Record<string, unknown>> {
    const { body } = await via.api('GET', `/api/accounts/${accountId}`);
    return body.data as Record<string, unknown>;
  }

  /** Pairs an account through any node's page, whichever node owns it, and waits until it is open. */
  async pair(phone: Phone, accountId = 'default', via?: Wa2aiProcess): Promise<void> {
    let shown: Record<string, unknown> = {};
    const shownQr = async () => {
      shown = await this.account(accountId, via);
      return typeof shown.qr === 'string' ? shown.qr : undefined;
    };
    const qr = await until(() => `a QR code of ${accountId}: ${JSON.stringify(shown)}`, shownQr, 60_000);
    const live = this.#emulator.waitFor('live', undefined, 60_000);
    await Promise.all([phone.scan(qr), live]);
    await this.untilOpen(accountId, via);
  }

  async untilOpen(accountId = 'default', via?: Wa2aiProcess, timeoutMs?: number): Promise<void> {
    let shown: Record<string, unknown> = {};
    const look = async () => {
      shown = await this.account(accountId, via);
      return shown.state === 'open' || undefined;
    };
    await until(() => `account ${accountId} to be open: ${JSON.stringify(shown)}`, look, timeoutMs);
  }

  /** How many turns ended on each node that runs. */
  turnsEnded(): Record<string, number> {
    return Object.fromEntries(
      [...this.#running].map(([name, service]) => [
        name,
        service.lines.filter((line) => line.msg === 'turn ended').length,
      ]),
    );
  }
}
