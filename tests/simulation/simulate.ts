import { initAuthCreds } from '@whiskeysockets/baileys';
import { encodeCreds } from '../../router/src/providers/baileys/signal/key-encoding.ts';
import { SeededRandom } from '../crash/random.ts';
import { EventLog } from './event-log.ts';
import { Faults } from './faults.ts';
import { type Broken, type Complaint, idsOf, judge } from './judge.ts';
import { SimAgent } from './sim-agent.ts';
import { SimDatabase } from './sim-database.ts';
import { type Sabotage, SimNode, seedOf } from './sim-node.ts';
import { SimProcess } from './sim-process.ts';
import { NEW_RATCHET, RATCHETS, type Ratchet } from './sim-signal.ts';
import { type ClientFrame, type SimConnection, SimWhatsApp } from './sim-whatsapp.ts';
import { VirtualTime } from './virtual-time.ts';
import { installVirtualTimers } from './virtual-timers.ts';

export interface SimulationOptions {
  seed: number;
  sabotage?: Sabotage;
  /** The account changes nodes all the time, with work under way. Default: in some runs, as the seed says. */
  isTakeOver?: boolean;
}

export interface SimulationReport {
  seed: number;
  complaints: Complaint[];
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
  /** Each complaint with the way of its message. */
  story(): string;
}

const ACCOUNT = 'main';
/** Keys of a linked account; nothing in a simulation depends on their values. */
const LINKED_CREDS = encodeCreds({
  ...initAuthCreds(),
  me: { id: '34600000000:7@s.whatsapp.net', lid: '990000000001:7@lid', name: 'Shop' },
  account: {},
  registered: true,
});
const LEASE_TTL_MS = 15_000;
/** From then on nothing goes wrong any more; everything has to settle by the end. */
const CALM_LIMIT_MS = 400_000;
const LOOK_EVERY_MS = 250;
/** What may still go wrong after everything seems to have settled. */
const AFTERMATH_MS = 5_000;
const MOST_TOLD = 3;

const FAULT_KINDS = [
  'crash',
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
/** In some runs accounts change nodes all the time, with work under way. */
const TAKE_OVER_SHARE = 0.06;
const TAKE_OVER_KINDS: readonly FaultKind[] = ['pause', 'pause', 'crash', 'slow-disk'];
const TAKE_OVER_LENGTHS_MS = [20_000];
/** How long things stay broken: some are shorter than a lease, some longer. */
const LENGTHS_MS = [50, 500, 2_000, 8_000, 20_000, 30_000];

/** Runs one simulation: people write while things go wrong, then everything works again and is judged. */
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

class World {
  readonly #seed: number;
  readonly #sabotage: Sabotage | undefined;
  readonly #random: SeededRandom;
  readonly #time = new VirtualTime();
  readonly #log = new EventLog(this.#time);
  readonly #faults: Faults;
  readonly #database: SimDatabase;
  readonly #whatsapp: SimWhatsApp;
  readonly #agent: SimAgent;
  readonly #chats: Map<string, string[]>;
  readonly #nodeIds: string[];
  readonly #nodes = new Map<string, SimNode>();
  readonly #sockets = new Set<SimConnection>();
  readonly #complaints: Complaint[] = [];
  readonly #isTakeOver: boolean;
  readonly #stormMs: number;
  readonly #damagedShare: number;
  #starts = 0;
  #written = 0;
  #faultCount = 0;
  #crashes = 0;
  #isCalm = false;

  constructor({ seed, sabotage, isTakeOver }: SimulationOptions) {
    this.#seed = seed;
    this.#sabotage = sabotage;
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
      isFenced: sabotage !== 'fence',
      isJournalled: sabotage !== 'journal',
    });
    this.#chats = makeChats(this.#random, this.#isTakeOver ? 1 : 3);
    const deps = { time: this.#time, log: this.#log, faults: this.#faults };
    this.#whatsapp = new SimWhatsApp(deps, this.#chats);
    this.#whatsapp.onWrite = (process, frame) => this.#judgeFrame(process, frame);
    this.#whatsapp.onConnect = (socket) => this.#sockets.add(socket);
    this.#agent = new SimAgent({ ...deps, random: this.#fork('agent') });
    this.#nodeIds = ['node-1', 'node-2', 'node-3'].slice(
      0,
      this.#random.between(this.#isTakeOver ? 2 : 1, 3),
    );
    this.#stormMs =
      this.#random.oneOf(this.#isTakeOver ? [90_000] : [10_000, 30_000, 60_000]) *
      (0.5 + this.#random.next());
    this.#damagedShare = this.#random.oneOf([0, 0, 0.05]);
  }

  async run(): Promise<SimulationReport> {
    await this.#prepare();
    for (const nodeId of this.#nodeIds) this.#start(nodeId);
    this.#planMessages();
    this.#planFaults();
    this.#faults.begin();
    await this.#time.runUntil(this.#stormMs, () => false);
    this.#calm();
    let isSettled = false;
    const look = () => {
      isSettled = this.#isSettled();
      if (!isSettled) this.#time.after(LOOK_EVERY_MS, look);
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
    this.#database.cluster.accounts.add(ACCOUNT);
    const { keys } = this.#database;
    const creds = { category: 'creds', keyId: 'creds', value: LINKED_CREDS };
    await keys.commit({ accountId: ACCOUNT, generation: 1 }, { puts: [creds], deletes: [], journal: [] });
    await this.#database.routes.create({
      accountId: ACCOUNT,
      channelId: '*',
      agentEndpoint: 'http://agent',
      environment: 'lab',
      priority: 0,
      enabled: true,
      config: {},
    });
  }

  // Nodes

  #start(nodeId: string): void {
    this.#starts += 1;
    const process = new SimProcess(this.#time, `${nodeId}.${this.#starts}`);
    this.#tell(`${process.name} starts`);
    const node = new SimNode({
      nodeId,
      process,
      database: this.#database,
      whatsapp: this.#whatsapp,
      agent: this.#agent,
      random: this.#fork(process.name),
      log: this.#log,
      sabotage: this.#sabotage,
    });
    this.#nodes.set(nodeId, node);
  }

  #kill(process: SimProcess): void {
    const found = [...this.#nodes].find(([, node]) => node.process === process);
    if (!found || process.isDead) return;
    const [nodeId, { session }] = found;
    this.#crashes += 1;
    this.#tell(`${process.name} is killed`);
    process.kill();
    for (const socket of this.#sockets) if (socket.isOf(process)) socket.processEnded();
    this.#time.after(this.#random.between(2, 200), () => this.#database.close(session));
    const downMs = this.#isCalm ? 500 : this.#random.between(300, 12_000);
    this.#time.after(downMs, () => {
      if (this.#nodes.get(nodeId)?.process === process) this.#start(nodeId);
    });
  }

  // What people do

  #planMessages(): void {
    const count = this.#isTakeOver ? 60 : this.#random.between(10, 40);
    for (let index = 0; index < count; index += 1) {
      this.#time.after(this.#random.next() * this.#stormMs, () => this.#write());
    }
  }

  #write(chat = this.#random.oneOf([...this.#chats.keys()])): void {
    this.#written += 1;
    const sender = this.#random.oneOf(this.#chats.get(chat) ?? []);
    const isDamaged = this.#faults.happens(this.#damagedShare);
    const id = `WA${String(this.#written).padStart(4, '0')}`;
    this.#whatsapp.write({ id, chat, sender, text: `message ${this.#written}` }, isDamaged);
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
        if (this.#isCalm) return;
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
    this.#tell(`${process.name} is paused for ${Math.round(forMs)} ms`);
    process.pause();
    this.#time.after(forMs, () => this.#resume(process));
  }

  #resume(process: SimProcess): void {
    if (!process.isPaused || process.isDead) return;
    this.#tell(`${process.name} goes on`);
    process.resume();
    this.#time.after(50, () => this.#killOwner());
  }

  /** The next owner begins with what a process wrote in the belief that it still held the account. */
  #killOwner(): void {
    if (!this.#isTakeOver || this.#isCalm || this.#random.next() < 0.5) return;
    const owner = this.#nodes.get(this.#database.leases.rows.get(ACCOUNT)?.owner ?? '');
    if (owner) this.#kill(owner.process);
  }

  #partitionDatabase(node: SimNode, forMs: number): void {
    if (node.session.isPartitioned) return;
    this.#tell(`${node.process.name} cannot reach the database for ${Math.round(forMs)} ms`);
    node.session.partition(this.#random.oneOf([100, 5_000, 20_000]));
    this.#time.after(forMs, () => this.#healDatabase(node));
  }

  #healDatabase(node: SimNode): void {
    if (!node.session.isPartitioned || node.process.isDead) return;
    this.#tell(`${node.process.name} reaches the database again`);
    node.session.heal(() => node.connectionBack());
  }

  #partitionWhatsApp(process: SimProcess, forMs: number): void {
    const sockets = [...this.#sockets].filter((socket) => socket.isOf(process) && !socket.isEnded);
    if (sockets.length === 0) return;
    this.#tell(`${process.name} cannot reach WhatsApp for ${Math.round(forMs)} ms`);
    for (const socket of sockets) socket.partition();
    this.#time.after(forMs, () => {
      for (const socket of sockets) socket.heal();
    });
  }

  #dropConnections(): void {
    this.#tell('connections to WhatsApp break');
    for (const socket of this.#sockets) {
      if (!socket.isEnded)
        socket.break(this.#random.oneOf([1, 500, 20_000]), this.#random.oneOf([1, 300, 15_000]));
    }
  }

  #stopDatabase(forMs: number): void {
    if (this.#database.isDown) return;
    this.#tell(`the database is down for ${Math.round(forMs)} ms`);
    this.#database.isDown = true;
    this.#time.after(forMs, () => {
      this.#database.isDown = false;
      this.#tell('the database is up again');
      for (const node of this.#nodes.values())
        if (!node.process.isDead) node.process.after(5, () => node.connectionBack());
    });
  }

  #slowDisk(forMs: number): void {
    this.#faults.diskSlowness = this.#random.oneOf([10, 100, 400]);
    this.#tell(`statements take ${this.#faults.diskSlowness} times as long for ${Math.round(forMs)} ms`);
    this.#time.after(forMs, () => {
      this.#faults.diskSlowness = 1;
    });
  }

  #jumpClock(process: SimProcess): void {
    const ms = this.#random.oneOf([-7_200_000, -20_000, -2_000, 2_000, 20_000, 7_200_000]);
    const isDatabase = this.#random.next() < 0.5;
    this.#tell(`the clock of ${isDatabase ? 'the database' : process.name} is set by ${ms} ms`);
    if (isDatabase) this.#database.jumpMs(ms);
    else process.jumpMs(ms);
  }

  #stopAgent(forMs: number): void {
    this.#tell(`the agent is away for ${Math.round(forMs)} ms`);
    this.#agent.isAway = true;
    this.#time.after(forMs, () => {
      this.#agent.isAway = false;
    });
  }

  /** Everything works again; people say one more word in each chat. */
  #calm(): void {
    this.#tell('everything works again');
    this.#isCalm = true;
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
    for (const chat of this.#chats.keys()) this.#write(chat);
  }

  #isSettled(): boolean {
    const { messages, outbox } = this.#database.state;
    if (this.#whatsapp.queued > 0 || messages.size < this.#whatsapp.written.length) return false;
    for (const row of messages.values()) if (row.state === 'received') return false;
    for (const row of outbox.values()) {
      if (row.state === 'queued' || row.state === 'sending' || row.state === 'sent') return false;
    }
    return true;
  }

  // Judgement

  /** What leaves a socket must rest on what is stored. */
  #judgeFrame(process: SimProcess, frame: ClientFrame): void {
    const { journal, keys, state } = this.#database;
    const complain = (broken: Broken, id: string) => {
      const ids = idsOf(id, this.#database);
      this.#complaints.push({ broken, chat: '', text: `${id} by ${process.name}`, ids });
    };
    if (frame.type === 'receipts') {
      for (const id of frame.ids) {
        const isStored = [...state.messages.values()].some((row) => row.waMessageId === id);
        if (!isStored && !journal.hasMessage(ACCOUNT, id)) complain('receipt-before-commit', id);
      }
    } else if (frame.type === 'message') {
      const row = [...state.outbox.values()].find((reply) => reply.waMessageId === frame.id);
      const name = { category: RATCHETS, keyId: frame.ciphertext.chain };
      const ratchet = keys.stored({ accountId: ACCOUNT, generation: 1 }, name);
      const { next } = ratchet === undefined ? NEW_RATCHET : (JSON.parse(ratchet) as Ratchet);
      const isStored = row !== undefined && row.state !== 'queued' && frame.ciphertext.number < next;
      if (!isStored) complain('sent-before-commit', frame.id);
    }
  }

  #report(): SimulationReport {
    const complaints = [...this.#complaints, ...judge(this.#whatsapp, this.#database)];
    const log = this.#log;
    return {
      seed: this.#seed,
      complaints,
      messages: this.#whatsapp.written.length,
      answered: [...this.#database.state.messages.values()].filter((row) => row.state === 'answered').length,
      seconds: this.#time.nowMs / 1_000,
      events: this.#time.events,
      faults: this.#faultCount,
      crashes: this.#crashes,
      digest: log.digest(),
      log: () => log.lines(),
      story: () => storyOf(this.#seed, complaints, log),
    };
  }

  #tell(what: string): void {
    this.#log.add('world', what);
  }
}

/** The provider wraps the console's methods, and a process that is killed never removes what it wrapped. */
function keepConsole(): () => void {
  const methods = { ...console };
  return () => Object.assign(console, methods);
}

function storyOf(seed: number, complaints: readonly Complaint[], log: EventLog): string {
  const parts = complaints
    .slice(0, MOST_TOLD)
    .map(({ broken, chat, text, ids }) =>
      [
        `seed ${seed}: ${broken}: "${text}" in ${chat || '-'}; ids ${[...ids].join(' ')}`,
        ...log.timeline(ids),
      ].join('\n'),
    );
  if (complaints.length > MOST_TOLD) {
    const more = complaints.slice(MOST_TOLD).map(({ broken, text }) => `${broken}: "${text}"`);
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
