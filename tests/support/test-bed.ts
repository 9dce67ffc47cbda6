import { afterAll, beforeAll, type RunnerTask } from 'vitest';
import type { ConversationSettings } from '../../router/src/core/policies/conversation-fields.ts';
import { type AdkMockAgent, optionsOf, startAdkMockAgent } from '../fixtures/adk-mock-agent.js';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createPerson, type Person } from '../whatsapp-emulator/person.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { pairByQr } from './pairing.ts';
import { WITHOUT_NOTICES } from './shaping.ts';
import { until } from './until.ts';
import { Wa2aiProcess } from './wa2ai-process.ts';

let numbers = 0;

/** Lets programs write to any number of people who never wrote: most tests are not about the governor. */
export async function withoutContactLimit(service: Wa2aiProcess): Promise<void> {
  const { status } = await service.api('PUT', '/api/settings/governor', { firstContacts: { perDay: 0 } });
  if (status !== 200) throw new Error(`the governor was not set: ${status}`);
}

/** Of the service that files share: none may need ffmpeg, and agents may name files of servers of the test. */
const SHARED_ENV = { WA2AI_FFMPEG: '/nonexistent/ffmpeg', WA2AI_EGRESS: 'any' };

/** What a test bed consists of, besides its agents. */
interface World {
  readonly emulator: WhatsAppEmulator;
  readonly database: TestDatabase;
  readonly phone: Phone;
  service?: Wa2aiProcess;
  /** Its service ends with this worker. */
  readonly isShared: boolean;
}

/** The paired service of this worker while no file uses it. */
let unused: World | undefined;

async function newWorld(options: {
  isForged?: boolean | undefined;
  isShared?: boolean;
  phone?: string | undefined;
}): Promise<World> {
  const { isForged, isShared = false, phone = newNumber('349') } = options;
  const [emulator, database] = await Promise.all([
    WhatsAppEmulator.start({ isForged }),
    createTestDatabase(),
  ]);
  return { emulator, database, phone: createPhone(emulator, { phone }), isShared };
}

/** The environment of e2e tests: an emulated WhatsApp, a database, agents, and the service when started. */
export class TestBed {
  #world: World | undefined;
  readonly #agents: AdkMockAgent[] = [];

  private constructor() {}

  /** @param options.phone number of the account; default a new one */
  static async start(
    options: { agent?: string[]; isForged?: boolean; phone?: string } = {},
  ): Promise<TestBed> {
    const bed = new TestBed();
    bed.#world = await newWorld({ isForged: options.isForged, phone: options.phone });
    await bed.anotherAgent(options.agent ?? []);
    return bed;
  }

  /** Starts a test bed with the service started, paired, and a route for every chat to its agent. */
  static async startPaired(
    options: { agent?: string[]; env?: Record<string, string>; nodeArgs?: string[]; phone?: string } = {},
  ): Promise<TestBed> {
    const bed = await TestBed.start(options);
    const service = await bed.startService(options.env, options.nodeArgs);
    await pairByQr(service, bed.phone, bed.emulator);
    await bed.#setUp();
    return bed;
  }

  /**
   * A bed like that of `startPaired` for the tests of the file that calls this, outside tests and hooks. Its agents are new.
   * Its service, emulator and database may be those of an earlier file of this worker, without routes and with the usual
   * settings: a test looks only at the people, chats and log lines that it made. After a test that failed, the next file gets a
   * new bed. A restart of the service keeps its settings.
   */
  static shared(): TestBed {
    const bed = new TestBed();
    beforeAll(async () => {
      bed.#world = unused ?? (await newWorld({ isShared: true }));
      unused = undefined;
      await bed.anotherAgent([]);
      if (!bed.#world.service) await pairByQr(await bed.startService(), bed.phone, bed.emulator);
      await bed.#setUp();
    });
    // biome-ignore lint/correctness/noEmptyPattern: Vitest accepts nothing else before the second argument
    afterAll(async ({}, file) => {
      if (hasFailed(file)) return await bed.close();
      await bed.#clear();
      unused = bed.#world;
    });
    return bed;
  }

  get emulator(): WhatsAppEmulator {
    return this.#started.emulator;
  }

  get database(): TestDatabase {
    return this.#started.database;
  }

  /** The phone of the account that the service links to. */
  get phone(): Phone {
    return this.#started.phone;
  }

  /** The agent of the route for every chat. */
  get agent(): AdkMockAgent {
    const [agent] = this.#agents;
    if (!agent) throw new Error('the test bed is not started');
    return agent;
  }

  get service(): Wa2aiProcess {
    const { service } = this.#started;
    if (!service) throw new Error('the service is not started');
    return service;
  }

  get #started(): World {
    if (!this.#world) throw new Error('the test bed is not started');
    return this.#world;
  }

  /** Starts the service on its database; once at a time. */
  async startService(env: Record<string, string> = {}, nodeArgs: string[] = []): Promise<Wa2aiProcess> {
    const { isShared } = this.#started;
    this.#started.service = await Wa2aiProcess.start({
      whatsappWsUrl: this.emulator.url,
      databaseUrl: this.database.url,
      env: { WA2AI_NODE_ID: 'e2e', ...this.emulator.mediaEnv, ...(isShared && SHARED_ENV), ...env },
      nodeArgs,
      endWithParent: isShared,
    });
    return this.service;
  }

  /** Starts the service again and waits until WhatsApp has given it everything that waited. */
  async restartService(env: Record<string, string> = {}, nodeArgs: string[] = []): Promise<Wa2aiProcess> {
    const live = this.emulator.waitFor('live', undefined, 60_000);
    const service = await this.startService(env, nodeArgs);
    await live;
    return service;
  }

  /** Replaces the conversation settings of all routes. */
  async converse(settings: ConversationSettings): Promise<void> {
    const { status, body } = await this.service.api('PUT', '/api/settings/conversation', settings);
    if (status !== 200) throw new Error(`the settings were not stored: ${JSON.stringify(body)}`);
  }

  /** A person with a new number. */
  person(options: Partial<Parameters<typeof createPerson>[1]> = {}): Person {
    return createPerson(this.emulator, { phone: newNumber('346'), ...options });
  }

  /** Another mock agent with these switches of its program, in this process. It is stopped with the test bed. */
  async anotherAgent(switches: string[], port = 0): Promise<AdkMockAgent> {
    const agent = await startAdkMockAgent(optionsOf([`${port}`, 'test_agent', '--max', '0', ...switches]));
    this.#agents.push(agent);
    return agent;
  }

  /** Replaces all routes by one for every chat, to the agent of the bed. */
  async routeAll(config: Record<string, unknown> = {}): Promise<void> {
    await this.#removeRoutes();
    await this.service.addRoute('*', this.agent.url, { config });
  }

  /** The stored message with this WhatsApp id, as the API shows it. */
  async message(waMessageId: string): Promise<Record<string, unknown> | undefined> {
    const { body } = await this.service.api('GET', '/api/messages?limit=100&trace=true');
    return (body.data as Array<Record<string, unknown>>).find((row) => row.waMessageId === waMessageId);
  }

  /** The stored message as soon as its turn has ended. */
  async untilTurnEnded(waMessageId: string, timeoutMs = 60_000): Promise<Record<string, unknown>> {
    const ended = async () => {
      const row = await this.message(waMessageId);
      return row && row.state !== 'received' ? row : undefined;
    };
    return await until(`the end of the turn of ${waMessageId}`, ended, timeoutMs);
  }

  /** Replays the dead letter of the message with this row id. */
  async replay(messageId: unknown): Promise<void> {
    const { body } = await this.service.api('GET', '/api/dead-letters?limit=100');
    const letter = (body.data as Array<Record<string, unknown>>).find((row) => row.messageId === messageId);
    const replayed = await this.service.api('POST', `/api/dead-letters/${letter?.id}/replay`);
    if (!replayed.body.success) throw new Error(`replay failed: ${JSON.stringify(replayed.body)}`);
  }

  async close(): Promise<void> {
    const { service, emulator, database } = this.#started;
    await service?.end();
    await this.#stopAgents();
    await emulator.stop();
    await database.drop();
  }

  async #setUp(): Promise<void> {
    // Groups too: most tests are not about mentions.
    await this.routeAll({ group: { answer: 'always' } });
    await this.converse({ notices: WITHOUT_NOTICES });
    await withoutContactLimit(this.service);
  }

  /** Leaves nothing by which the next file would notice the tests of this one. */
  async #clear(): Promise<void> {
    const { service, emulator, database } = this.#started;
    service?.assertNothingLeaked();
    emulator.faults.clear();
    await this.#removeRoutes();
    await this.#stopAgents();
    await database.disconnect();
  }

  async #removeRoutes(): Promise<void> {
    const { body } = await this.service.api('GET', '/api/routes');
    for (const { id } of body.data as Array<{ id: string }>) {
      const { status } = await this.service.api('DELETE', `/api/routes/${id}`);
      if (status !== 200) throw new Error(`route ${id} was not removed: ${status}`);
    }
  }

  async #stopAgents(): Promise<void> {
    await Promise.all(this.#agents.map((agent) => agent.close()));
  }
}

/** Whether a test or hook of these failed. */
function hasFailed(task: RunnerTask): boolean {
  return task.result?.state === 'fail' || (task.type === 'suite' && task.tasks.some(hasFailed));
}

/** A phone number that is unique in this process. */
export function newNumber(prefix: string): string {
  numbers += 1;
  return `${prefix}${String(process.pid % 10_000).padStart(4, '0')}${String(numbers).padStart(4, '0')}`;
}
