import type { ConversationSettings } from '../../router/src/core/policies/conversation-fields.ts';
import { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createPerson, type Person } from '../whatsapp-emulator/person.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { MockAgent } from './mock-agent.ts';
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

/** The environment of one e2e test: an emulated WhatsApp, a database, an agent, and the service when started. */
export class TestBed {
  readonly emulator: WhatsAppEmulator;
  readonly database: TestDatabase;
  readonly agent: MockAgent;
  /** The phone of the account that the service links to. */
  readonly phone: Phone;
  readonly #agents: MockAgent[] = [];
  #service: Wa2aiProcess | undefined;

  private constructor(emulator: WhatsAppEmulator, database: TestDatabase, agent: MockAgent) {
    this.emulator = emulator;
    this.database = database;
    this.agent = agent;
    this.phone = createPhone(emulator, { phone: newNumber('349') });
  }

  static async start(options: { agent?: string[]; isForged?: boolean } = {}): Promise<TestBed> {
    const [emulator, database, agent] = await Promise.all([
      WhatsAppEmulator.start({ isForged: options.isForged }),
      createTestDatabase(),
      MockAgent.start({ switches: options.agent }),
    ]);
    return new TestBed(emulator, database, agent);
  }

  /** Starts a test bed with the service started, paired, and a route for every chat to its agent. */
  static async startPaired(
    options: { agent?: string[]; env?: Record<string, string>; nodeArgs?: string[] } = {},
  ): Promise<TestBed> {
    const bed = await TestBed.start(options);
    const service = await bed.startService(options.env, options.nodeArgs);
    await pairByQr(service, bed.phone, bed.emulator);
    // Groups too: most tests are not about mentions.
    await service.addRoute('*', bed.agent.url, { config: { group: { answer: 'always' } } });
    await bed.converse({ notices: WITHOUT_NOTICES });
    await withoutContactLimit(service);
    return bed;
  }

  get service(): Wa2aiProcess {
    if (!this.#service) throw new Error('the service is not started');
    return this.#service;
  }

  /** Starts the service on its database; once at a time. */
  async startService(env: Record<string, string> = {}, nodeArgs: string[] = []): Promise<Wa2aiProcess> {
    this.#service = await Wa2aiProcess.start({
      whatsappWsUrl: this.emulator.url,
      databaseUrl: this.database.url,
      env: { WA2AI_NODE_ID: 'e2e', ...this.emulator.mediaEnv, ...env },
      nodeArgs,
    });
    return this.#service;
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

  /** Another mock agent, stopped with the test bed. */
  async anotherAgent(switches: string[], port?: number): Promise<MockAgent> {
    const agent = await MockAgent.start({ switches, port });
    this.#agents.push(agent);
    return agent;
  }

  /** The stored message with this WhatsApp id, as the API shows it. */
  async message(waMessageId: string): Promise<Record<string, unknown> | undefined> {
    const { body } = await this.service.api('GET', '/api/messages?limit=100');
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
    await this.#service?.end();
    await Promise.all([this.agent, ...this.#agents].map((agent) => agent.stop()));
    await this.emulator.stop();
    await this.database.drop();
  }
}

/** A phone number that is unique in this process. */
export function newNumber(prefix: string): string {
  numbers += 1;
  return `${prefix}${String(process.pid % 10_000).padStart(4, '0')}${String(numbers).padStart(4, '0')}`;
}
