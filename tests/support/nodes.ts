import { expect } from 'vitest';
import type { Phone } from '../whatsapp-emulator/phone.ts';
import { Stage } from './stage.ts';
import { Wa2aiProcess } from './wa2ai-process.ts';

/** A node as `/api/nodes` shows it. */
export interface ShownNode {
  nodeId: string;
  state: string;
  turns: number;
  accounts: Array<{ accountId: string; epoch: string }>;
}

/** Several wa2ai processes on one stage: one WhatsApp, one database, one agent. */
export class Nodes {
  readonly stage: Stage;
  readonly #env: Record<string, string>;
  readonly #live = new Map<string, Wa2aiProcess>();

  private constructor(stage: Stage, env: Record<string, string>) {
    this.stage = stage;
    this.#env = env;
  }

  /** Starts nodes at the same moment. `env` is that of all of them. */
  static async start(
    names: readonly string[],
    options: { agent?: string[]; env?: Record<string, string> } = {},
  ): Promise<Nodes> {
    const nodes = new Nodes(await Stage.set({ agent: options.agent }), options.env ?? {});
    await Promise.all(names.map((name) => nodes.add(name)));
    return nodes;
  }

  async add(name: string): Promise<Wa2aiProcess> {
    const service = await Wa2aiProcess.start({
      whatsappWsUrl: this.stage.emulator.url,
      databaseUrl: this.stage.database.url,
      env: { WA2AI_NODE_ID: name, ...this.stage.emulator.mediaEnv, ...this.#env },
    });
    this.#live.set(name, service);
    return service;
  }

  node(name: string): Wa2aiProcess {
    const service = this.#live.get(name);
    if (!service) throw new Error(`node ${name} is not started`);
    return service;
  }

  /** Any node that lives, other than the named ones. */
  any(...except: string[]): Wa2aiProcess {
    const [service] = [...this.#live].filter(([name]) => !except.includes(name)).map(([, each]) => each);
    if (!service) throw new Error('no node is started');
    return service;
  }

  /** Ends a node and forgets it. */
  async end(name: string, signal?: NodeJS.Signals): Promise<number | null> {
    const service = this.node(name);
    this.#live.delete(name);
    return service.end(signal);
  }

  async shown(via: Wa2aiProcess = this.any()): Promise<ShownNode[]> {
    const { body } = await via.api('GET', '/api/nodes');
    return body.data as ShownNode[];
  }

  /** Names of the nodes that hold the account, as one node sees it. */
  async holdersOf(accountId = 'default', via: Wa2aiProcess = this.any()): Promise<string[]> {
    const held = (node: ShownNode) => node.accounts.some((account) => account.accountId === accountId);
    return (await this.shown(via)).filter(held).map(({ nodeId }) => nodeId);
  }

  /** Resolves with the one node that holds the account, once one does that is not excepted. */
  async untilHeld(accountId = 'default', except: string[] = [], via?: Wa2aiProcess): Promise<string> {
    let holder = '';
    await expect
      .poll(
        async () => {
          [holder = ''] = await this.holdersOf(accountId, via ?? this.any(...except));
          return holder !== '' && !except.includes(holder);
        },
        { timeout: 30_000, interval: 50 },
      )
      .toBe(true);
    return holder;
  }

  async account(accountId = 'default', via: Wa2aiProcess = this.any()): Promise<Record<string, unknown>> {
    const { body } = await via.api('GET', `/api/accounts/${accountId}`);
    return body.data as Record<string, unknown>;
  }

  /** Pairs an account through any node's page, wherever it is held, and waits until it is open. */
  async pair(phone: Phone = this.stage.phone, accountId = 'default', via?: Wa2aiProcess): Promise<void> {
    await expect
      .poll(async () => (await this.account(accountId, via)).qr, { timeout: 30_000 })
      .toBeTypeOf('string');
    const { qr } = await this.account(accountId, via);
    const live = this.stage.emulator.waitFor('live', undefined, 30_000);
    await Promise.all([phone.scan(String(qr)), live]);
    await this.untilOpen(accountId, via);
  }

  async untilOpen(accountId = 'default', via?: Wa2aiProcess): Promise<void> {
    await expect
      .poll(async () => (await this.account(accountId, via)).state, { timeout: 30_000 })
      .toBe('open');
  }

  /** How many turns ended on each live node. */
  turnsEnded(): Record<string, number> {
    return Object.fromEntries(
      [...this.#live].map(([name, service]) => [
        name,
        service.lines.filter((line) => line.msg === 'turn ended').length,
      ]),
    );
  }

  async strike(): Promise<void> {
    await Promise.all([...this.#live.values()].map((service) => service.end('SIGKILL')));
    await this.stage.strike();
  }
}
