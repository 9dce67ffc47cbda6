import { initAuthCreds } from '@whiskeysockets/baileys';
import { encodeCreds } from '../../router/src/providers/baileys/signal/account-keys.ts';
import { SeededRandom } from '../crash/random.ts';
import { EventLog } from './event-log.ts';
import { Faults } from './faults.ts';
import { idsOf, judge, type Violation, type ViolationKind } from './judge.ts';
import { SimAgent } from './sim-agent.ts';
import { SimDatabase } from './sim-database.ts';
import { SimMediaServer } from './sim-media-server.ts';
import { type Poison, type Safeguard, SimNode, seedOf } from './sim-node.ts';
import { SimProcess } from './sim-process.ts';
import { NEW_RATCHET, RATCHETS, type Ratchet } from './sim-signal.ts';
import { type ClientFrame, lidOf, type Refusals, type SimConnection, SimWhatsApp } from './sim-whatsapp.ts';
import { VirtualTime } from './virtual-time.ts';
import { installVirtualTimers } from './virtual-timers.ts';

export interface SimulationOptions {
  seed: number;
  without?: Safeguard;
  /** The accounts change nodes all the time, while messages are processed. Default: in some runs, by the seed. */
  isTakeOver?: boolean;
}

export interface SimulationReport {
  seed: number;
  violations: Violation[];
  messages: number;
  answered: number;
  /** Virtual time. */
  seconds: number;
  events: number;
  faults: number;
  crashes: number;
  /** Equal for equal runs. */
  digest: string;
  /** Everything that happened. */
  log(): string[];
  /** Each violation with the way of its message through the system. */
  trace(): string;
}

const ACCOUNTS = ['main', 'shop'];
/** Keys of a linked account; nothing in a simulation depends on their values. */
const LINKED_CREDS = encodeCreds({
  ...initAuthCreds(),
  me: { id: '34600000000:7@s.whatsapp.net', lid: '990000000001:7@lid', name: 'Shop' },
  account: {},
  registered: true,
});
const LEASE_TTL_MS = 15_000;
/** Time without faults at the end of a simulation, in which everything must settle. */
const CALM_LIMIT_MS = 400_000;
const CHECK_EVERY_MS = 250;
/** Further time after everything has settled, in which nothing may change for the worse. */
const AFTERMATH_MS = 5_000;
const MAX_TRACED = 3;
/** As docker-compose.yml's stop_grace_period. */
const STOP_LIMIT_MS = 20_000;
const SEVERAL_ACCOUNTS_SHARE = 0.25;
/** Share of simulations with a message whose answer, reply or arrival ends the process, every time. */
const POISON_SHARE = 0.15;
/** At what a run without this safeguard ends processes. */
const POISON_OF: Partial<Record<Safeguard, Poison['at']>> = {
  suspicion: 'answer',
  'suspicion-of-replies': 'reply',
  'suspicion-of-stanzas': 'stanza',
};
/** Few runs have limits: each lasts five virtual minutes. */
const REFUSALS: readonly Refusals[] = [
  ...Array.from({ length: 8 }, () => ({ share: 0, codes: [] })),
  { share: 0.1, codes: ['479'] },
  { share: 0.02, codes: ['429'] },
];

const FAULT_KINDS = [
  'crash',
  'stop',
  'pause',
  'no-database',
  'no-whatsapp',
  'drop',
  'outage',
  'slow-disk',
  'clock-jump',
  'no-agent',
] as const;
type FaultKind = (typeof FAULT_KINDS)[number];
/** Share of simulations in which accounts change nodes all the time, while messages are processed. */
const TAKE_OVER_SHARE = 0.06;
const TAKE_OVER_KINDS: readonly FaultKind[] = ['pause', 'pause', 'crash', 'stop', 'slow-disk'];
const TAKE_OVER_LENGTHS_MS = [20_000];
/** How long faults last: some are shorter than a lease, some longer. */
const LENGTHS_MS = [50, 500, 2_000, 8_000, 20_000, 30_000];

/** Runs one simulation: people write while faults happen, then everything works again and the result is checked. */
export async function simulate(options: SimulationOptions): Promise<SimulationReport> {
  const world = new World(options);
  const removeTimers = installVirtualTimers();
  const restoreConsole = keepConsole();
  try {
    return await world.run();
  } finally {
    removeTimers();
    restoreConsole();
  }
}

interface SimAccount {
  whatsapp: SimWhatsApp;
  /** Members of each chat, by its JID. */
  chats: ReadonlyMap<string, string[]>;
}

class World {
  readonly #seed: number;
  readonly #without: Safeguard | undefined;
  readonly #random: SeededRandom;
  readonly #time = new VirtualTime();
  readonly #log = new EventLog(this.#time);
  readonly #faults: Faults;
  readonly #database: SimDatabase;
  /** The accounts, by id. */
  readonly #accounts: ReadonlyMap<string, SimAccount>;
  readonly #mediaServer: SimMediaServer;
  readonly #agent: SimAgent;
  readonly #poison: Poison | undefined;
  readonly #nodeIds: string[];
  readonly #nodes = new Map<string, SimNode>();
  readonly #sockets = new Set<SimConnection>();
  readonly #violations: Violation[] = [];
  /** The processes that ended, or looked dead, while a message or a reply was open: by `message#1` and `outbox#1`. */
  readonly #endsOf = new Map<string, Set<string>>();
  readonly #isTakeOver: boolean;
  readonly #faultsMs: number;
  readonly #damagedShare: number;
  readonly #edits: number;
  readonly #files: number;
  #starts = 0;
  #written = 0;
  #faultCount = 0;
  #crashes = 0;
  #isWithoutFaults = false;

  constructor({ seed, without, isTakeOver }: SimulationOptions) {
    this.#seed = seed;
    this.#without = without;
    this.#random = this.#fork('world');
    this.#isTakeOver = isTakeOver ?? this.#random.next() < TAKE_OVER_SHARE;
    const effects = {
      kill: (process: SimProcess) => this.#kill(process),
      pause: (process: SimProcess) => this.#pause(process, this.#random.between(17_000, 30_000)),
      executedLate: () => this.#killOwner(),
    };
    this.#faults = new Faults(this.#fork('faults'), effects, this.#isTakeOver);
    this.#database = new SimDatabase({
      time: this.#time,
      log: this.#log,
      faults: this.#faults,
      leaseTtlMs: LEASE_TTL_MS,
      isFenced: without !== 'fence',
      isJournalled: without !== 'journal',
      isCounted: without !== 'suspicion',
      isCountedForReplies: without !== 'suspicion-of-replies',
      isCountedForStanzas: without !== 'suspicion-of-stanzas',
    });
    const deps = { time: this.#time, log: this.#log, faults: this.#faults };
    const refusals = this.#random.oneOf(REFUSALS);
    const accountIds = ACCOUNTS.slice(0, this.#random.next() < SEVERAL_ACCOUNTS_SHARE ? 2 : 1);
    this.#accounts = new Map(
      accountIds.map((accountId) => {
        const chats = makeChats(this.#random, this.#isTakeOver ? 1 : 3);
        const whatsapp = new SimWhatsApp(deps, chats, refusals);
        whatsapp.onWrite = (process, frame) => this.#judgeFrame(accountId, process, frame);
        whatsapp.onConnect = (socket) => this.#sockets.add(socket);
        return [accountId, { whatsapp, chats }];
      }),
    );
    this.#mediaServer = new SimMediaServer(this.#faults, this.#random.oneOf([0, 0.05, 0.2]));
    const poison = this.#fork('poison');
    const isPoisoned = poison.next() < POISON_SHARE;
    const text = `message ${poison.between(1, 10)}`;
    const at = (without && POISON_OF[without]) ?? poison.oneOf(['answer', 'reply', 'stanza'] as const);
    this.#poison = isPoisoned ? { text, at } : undefined;
    const isPoison = (given: string) => this.#poison?.at === 'answer' && given === this.#poison.text;
    this.#agent = new SimAgent({ ...deps, random: this.#fork('agent'), isPoison });
    this.#nodeIds = ['node-1', 'node-2', 'node-3'].slice(
      0,
      this.#random.between(this.#isTakeOver ? 2 : 1, 3),
    );
    this.#faultsMs =
      this.#random.oneOf(this.#isTakeOver ? [90_000] : [10_000, 30_000, 60_000]) *
      (0.5 + this.#random.next());
    this.#damagedShare = this.#random.oneOf([0, 0, 0.05]);
    this.#edits = this.#random.oneOf([0, 0.1, 0.3]);
    this.#files = this.#random.oneOf([0, 0.1]);
  }

  async run(): Promise<SimulationReport> {
    await this.#prepare();
    for (const nodeId of this.#nodeIds) this.#start(nodeId);
    this.#planMessages();
    this.#planFaults();
    this.#faults.begin();
    await this.#time.runUntil(this.#faultsMs, () => false);
    this.#endFaults();
    let isSettled = false;
    const look = () => {
      isSettled = this.#isSettled();
      if (!isSettled) this.#time.after(CHECK_EVERY_MS, look);
    };
    look();
    await this.#time.runUntil(this.#time.nowMs + CALM_LIMIT_MS, () => isSettled);
    await this.#time.runUntil(this.#time.nowMs + AFTERMATH_MS, () => false);
    for (const { process } of this.#nodes.values()) process.kill();
    return this.#report();
  }

  #fork(name: string): SeededRandom {
    return new SeededRandom(seedOf(this.#seed, name));
  }

  async #prepare(): Promise<void> {
    const { keys, cluster, routes } = this.#database;
    const creds = { category: 'creds', keyId: 'creds', value: LINKED_CREDS };
    for (const accountId of this.#accounts.keys()) {
      cluster.accounts.add(accountId);
      await keys.commit({ accountId, generation: 1 }, { puts: [creds], deletes: [], journal: [] });
      await routes.create({
        accountId,
        channelId: '*',
        agentEndpoint: 'http://agent',
        environment: 'lab',
        priority: 0,
        enabled: true,
        config: { group: { answer: 'always' } },
      });
    }
  }

  // Nodes

  #start(nodeId: string): void {
    this.#starts += 1;
    const process = new SimProcess(this.#time, `${nodeId}.${this.#starts}`);
    this.#logWorld(`${process.name} starts`);
    const node = new SimNode({
      nodeId,
      process,
      database: this.#database,
      whatsAppOf: (accountId) => this.#accountOf(accountId).whatsapp,
      mediaServer: this.#mediaServer,
      agent: this.#agent,
      poison: this.#poison,
      kill: (ended) => this.#kill(ended),
      random: this.#fork(process.name),
      log: this.#log,
      without: this.#without,
    });
    this.#nodes.set(nodeId, node);
  }

  #kill(process: SimProcess): void {
    if (!this.#nodeOf(process)) return;
    this.#crashes += 1;
    this.#logWorld(`${process.name} is killed`);
    this.#countEnd(process);
    this.#end(process);
  }

  /** SIGTERM, and SIGKILL when the process has not ended in time. */
  #stop(node: SimNode): void {
    const { process } = node;
    if (!node.hasStarted) {
      this.#kill(process);
      return;
    }
    this.#logWorld(`${process.name} is stopped`);
    process.after(0, async () => {
      await node.stop();
      if (!this.#nodeOf(process)) return;
      this.#logWorld(`${process.name} has ended`);
      this.#end(process);
    });
    this.#time.after(STOP_LIMIT_MS, () => this.#kill(process));
  }

  /** The process is gone; another one starts on its node later. */
  #end(process: SimProcess): void {
    const found = this.#nodeOf(process);
    if (!found) return;
    const [nodeId, { session }] = found;
    process.kill();
    for (const socket of this.#sockets) if (socket.isOf(process)) socket.processEnded();
    this.#time.after(this.#random.between(2, 200), () => this.#database.close(session));
    const downMs = this.#isWithoutFaults ? 500 : this.#random.between(300, 12_000);
    this.#time.after(downMs, () => {
      if (this.#nodes.get(nodeId)?.process === process) this.#start(nodeId);
    });
  }

  #countEnd(process: SimProcess): void {
    const { messages, outbox } = this.#database.state;
    const open = [
      ...[...messages.values()].filter(({ state }) => state === 'received').map(({ id }) => `message#${id}`),
      ...[...outbox.values()].filter(({ state }) => state === 'sending').map(({ id }) => `outbox#${id}`),
    ];
    for (const work of open) {
      this.#endsOf.set(work, (this.#endsOf.get(work) ?? new Set()).add(process.name));
    }
  }

  /** The node that a process runs; undefined when the process is dead. */
  #nodeOf(process: SimProcess): [nodeId: string, node: SimNode] | undefined {
    return process.isDead ? undefined : [...this.#nodes].find(([, node]) => node.process === process);
  }

  // What people do

  #planMessages(): void {
    const count = this.#isTakeOver ? 60 : this.#random.between(10, 40);
    for (let index = 0; index < count; index += 1) {
      this.#time.after(this.#random.next() * this.#faultsMs, () => this.#write());
    }
  }

  #write(target = this.#random.oneOf(this.#chats())): void {
    this.#written += 1;
    const { chat, members, whatsapp } = target;
    const sender = this.#random.oneOf(members);
    const id = `WA${String(this.#written).padStart(4, '0')}`;
    const isEdit = this.#faults.happens(this.#edits);
    const own = whatsapp.written.filter(
      (each) => each.chat === chat && each.sender === sender && each.editOf === undefined,
    );
    const editOf = isEdit ? own.at(-1)?.id : undefined;
    const file = editOf === undefined && this.#faults.happens(this.#files) ? `/picture/${id}` : undefined;
    const isDamaged = this.#faults.happens(this.#damagedShare);
    const isByLid = this.#random.next() < 0.5;
    const text = `message ${this.#written}`;
    const isEncrypted = editOf !== undefined && this.#written % 2 === 0;
    const encryptedBy = isEncrypted ? (isByLid ? lidOf(sender) : sender) : undefined;
    whatsapp.write({ id, chat, sender, isByLid, text, editOf, encryptedBy, file }, isDamaged);
  }

  /** Every chat of every account. */
  #chats(): Array<{ chat: string; members: string[]; whatsapp: SimWhatsApp }> {
    return [...this.#accounts.values()].flatMap(({ whatsapp, chats }) =>
      [...chats].map(([chat, members]) => ({ chat, members, whatsapp })),
    );
  }

  // What goes wrong

  #planFaults(): void {
    const meanMs = this.#random.oneOf([1_000, 3_000, 10_000]);
    // Some kinds only in each run: what one of them does is not hidden behind another.
    const isUsed = (): boolean => this.#random.next() < 0.4;
    const kinds = this.#isTakeOver ? TAKE_OVER_KINDS : FAULT_KINDS.filter(isUsed);
    const lengthsMs = this.#isTakeOver ? TAKE_OVER_LENGTHS_MS : LENGTHS_MS.filter(isUsed);
    const next = () => {
      this.#time.after(-Math.log(1 - this.#random.next()) * meanMs, () => {
        if (this.#isWithoutFaults) return;
        const forMs = this.#random.oneOf(lengthsMs.length > 0 ? lengthsMs : LENGTHS_MS);
        this.#breakSomething(
          this.#random.oneOf(kinds.length > 0 ? kinds : FAULT_KINDS),
          forMs * (0.5 + this.#random.next()),
        );
        next();
      });
    };
    next();
  }

  #breakSomething(kind: FaultKind, forMs: number): void {
    const node = this.#nodes.get(this.#random.oneOf(this.#nodeIds));
    if (!node || node.process.isDead) return;
    this.#faultCount += 1;
    const { process } = node;
    switch (kind) {
      case 'crash':
        this.#kill(process);
        break;
      case 'pause':
        this.#pause(process, forMs);
        break;
      case 'stop':
        this.#stop(node);
        break;
      case 'no-database':
        this.#partitionDatabase(node, forMs);
        break;
      case 'no-whatsapp':
        this.#partitionWhatsApp(process, forMs);
        break;
      case 'drop':
        this.#dropConnections();
        break;
      case 'outage':
        this.#stopDatabase(forMs);
        break;
      case 'slow-disk':
        this.#slowDisk(forMs);
        break;
      case 'clock-jump':
        this.#jumpClock(process);
        break;
      case 'no-agent':
        this.#stopAgent(forMs);
        break;
    }
  }

  #pause(process: SimProcess, forMs: number): void {
    if (process.isPaused || process.isDead) return;
    this.#logWorld(`${process.name} is paused for ${Math.round(forMs)} ms`);
    this.#countEnd(process);
    process.pause();
    this.#time.after(forMs, () => this.#resume(process));
  }

  #resume(process: SimProcess): void {
    if (!process.isPaused || process.isDead) return;
    this.#logWorld(`${process.name} resumes`);
    process.resume();
    this.#time.after(50, () => this.#killOwner());
  }

  /** The next owner begins with what a process wrote in the belief that it still held the account. */
  #killOwner(): void {
    if (!this.#isTakeOver || this.#isWithoutFaults || this.#random.next() < 0.5) return;
    const owner = this.#nodes.get(
      this.#database.leases.rows.get(this.#random.oneOf([...this.#accounts.keys()]))?.owner ?? '',
    );
    if (owner) this.#kill(owner.process);
  }

  #partitionDatabase(node: SimNode, forMs: number): void {
    if (node.session.isPartitioned) return;
    this.#logWorld(`${node.process.name} cannot reach the database for ${Math.round(forMs)} ms`);
    node.session.partition(this.#random.oneOf([100, 5_000, 20_000]));
    this.#time.after(forMs, () => this.#healDatabase(node));
  }

  #healDatabase(node: SimNode): void {
    if (!node.session.isPartitioned || node.process.isDead) return;
    this.#logWorld(`${node.process.name} reaches the database again`);
    node.session.heal(() => node.connectionBack());
  }

  #partitionWhatsApp(process: SimProcess, forMs: number): void {
    const sockets = [...this.#sockets].filter((socket) => socket.isOf(process) && !socket.isEnded);
    if (sockets.length === 0) return;
    this.#logWorld(`${process.name} cannot reach WhatsApp for ${Math.round(forMs)} ms`);
    for (const socket of sockets) socket.partition();
    this.#time.after(forMs, () => {
      for (const socket of sockets) socket.heal();
    });
  }

  #dropConnections(): void {
    this.#logWorld('connections to WhatsApp break');
    for (const socket of this.#sockets) {
      if (!socket.isEnded)
        socket.break(this.#random.oneOf([1, 500, 20_000]), this.#random.oneOf([1, 300, 15_000]));
    }
  }

  #stopDatabase(forMs: number): void {
    if (this.#database.isDown) return;
    this.#logWorld(`the database is down for ${Math.round(forMs)} ms`);
    this.#database.isDown = true;
    this.#time.after(forMs, () => {
      this.#database.isDown = false;
      this.#logWorld('the database is up again');
      for (const node of this.#nodes.values())
        if (!node.process.isDead) node.process.after(5, () => node.connectionBack());
    });
  }

  #slowDisk(forMs: number): void {
    this.#faults.diskSlowness = this.#random.oneOf([10, 100, 400]);
    this.#logWorld(`statements take ${this.#faults.diskSlowness} times as long for ${Math.round(forMs)} ms`);
    this.#time.after(forMs, () => {
      this.#faults.diskSlowness = 1;
    });
  }

  #jumpClock(process: SimProcess): void {
    const ms = this.#random.oneOf([-7_200_000, -20_000, -2_000, 2_000, 20_000, 7_200_000]);
    const isDatabase = this.#random.next() < 0.5;
    this.#logWorld(`the clock of ${isDatabase ? 'the database' : process.name} is set by ${ms} ms`);
    if (isDatabase) this.#database.jumpMs(ms);
    else process.jumpMs(ms);
  }

  #stopAgent(forMs: number): void {
    this.#logWorld(`the agent is unavailable for ${Math.round(forMs)} ms`);
    this.#agent.isAway = true;
    this.#time.after(forMs, () => {
      this.#agent.isAway = false;
    });
  }

  /** Everything works again; one more message is written in each chat. */
  #endFaults(): void {
    this.#logWorld('everything works again');
    this.#isWithoutFaults = true;
    this.#faults.end();
    this.#database.isDown = false;
    this.#agent.isAway = false;
    for (const socket of this.#sockets) socket.heal();
    for (const nodeId of this.#nodeIds) {
      const node = this.#nodes.get(nodeId);
      if (!node || node.process.isDead) continue;
      this.#resume(node.process);
      this.#healDatabase(node);
      node.process.after(10, () => node.connectionBack());
    }
    for (const target of this.#chats()) this.#write(target);
  }

  #isSettled(): boolean {
    const { messages, outbox } = this.#database.state;
    for (const { whatsapp } of this.#accounts.values()) if (whatsapp.queued > 0) return false;
    if (messages.size < this.#written) return false;
    for (const row of messages.values()) if (row.state === 'received') return false;
    for (const row of outbox.values()) {
      if (row.state === 'queued' || row.state === 'sending' || row.state === 'sent') return false;
    }
    return true;
  }

  // Judgement

  /** What leaves a socket must rest on what is stored. */
  #judgeFrame(accountId: string, process: SimProcess, frame: ClientFrame): void {
    const { journal, keys, state } = this.#database;
    const report = (kind: ViolationKind, id: string) => {
      const ids = idsOf(id, this.#database);
      this.#violations.push({ kind, chat: '', text: `${id} by ${process.name}`, ids });
    };
    if (frame.type === 'receipts') {
      for (const id of frame.ids) {
        const isStored = [...state.messages.values()].some((row) => row.waMessageId === id);
        if (!isStored && !journal.hasMessage(accountId, id)) report('receipt-before-commit', id);
      }
    } else if (frame.type === 'message') {
      const row = [...state.outbox.values()].find((reply) => reply.waMessageId === frame.id);
      const name = { category: RATCHETS, keyId: frame.ciphertext.chain };
      const ratchet = keys.stored({ accountId, generation: 1 }, name);
      const { next } = ratchet === undefined ? NEW_RATCHET : (JSON.parse(ratchet) as Ratchet);
      const isStored = row !== undefined && row.state !== 'queued' && frame.ciphertext.number < next;
      if (!isStored) report('sent-before-commit', frame.id);
    }
  }

  #report(): SimulationReport {
    const violations = [...this.#violations];
    for (const { whatsapp } of this.#accounts.values())
      violations.push(...judge(whatsapp, this.#database, this.#mediaServer, this.#poison, this.#endsOf));
    const log = this.#log;
    return {
      seed: this.#seed,
      violations,
      messages: this.#written,
      answered: [...this.#database.state.messages.values()].filter((row) => row.state === 'answered').length,
      seconds: this.#time.nowMs / 1_000,
      events: this.#time.events,
      faults: this.#faultCount,
      crashes: this.#crashes,
      digest: log.digest(),
      log: () => log.lines(),
      trace: () => traceOf(this.#seed, violations, log),
    };
  }

  #accountOf(accountId: string): SimAccount {
    const account = this.#accounts.get(accountId);
    if (!account) throw new Error(`no account ${accountId} in this simulation`);
    return account;
  }

  #logWorld(what: string): void {
    this.#log.add('world', what);
  }
}

/** The provider wraps the console's methods, and a process that is killed never removes what it wrapped. */
function keepConsole(): () => void {
  const methods = { ...console };
  return () => Object.assign(console, methods);
}

function traceOf(seed: number, violations: readonly Violation[], log: EventLog): string {
  const parts = violations
    .slice(0, MAX_TRACED)
    .map(({ kind, chat, text, ids }) =>
      [
        `seed ${seed}: ${kind}: "${text}" in ${chat || '-'}; ids ${[...ids].join(' ')}`,
        ...log.timeline(ids),
      ].join('\n'),
    );
  if (violations.length > MAX_TRACED) {
    const more = violations.slice(MAX_TRACED).map(({ kind, text }) => `${kind}: "${text}"`);
    parts.push(`... and ${more.length} more: ${more.slice(0, 20).join(', ')}`);
  }
  return parts.join('\n\n');
}

/** Members of each chat by its JID: people in their own chats, and groups of three. */
function makeChats(random: SeededRandom, mostPeople: number): Map<string, string[]> {
  const chats = new Map<string, string[]>();
  const person = (number: number) => `3467000${String(number).padStart(4, '0')}@s.whatsapp.net`;
  const people = random.between(1, mostPeople);
  for (let number = 1; number <= people; number += 1) chats.set(person(number), [person(number)]);
  const groups = random.between(0, 1);
  for (let number = 1; number <= groups; number += 1) {
    const base = number * 10;
    chats.set(`12036300000000${number}@g.us`, [person(base), person(base + 1), person(base + 2)]);
  }
  return chats;
}
