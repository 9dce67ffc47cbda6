import type { ChatId } from '../../core/chat-id.ts';
import { say } from '../../core/phrases.ts';
import {
  type ScenarioChat,
  type ScenarioMessage,
  type ScenarioRoute,
  type ScenarioWorld,
  type ScenarioWriting,
  type ShownEvent,
  StepFailedError,
} from './scenario.ts';

/** The operations of the REST API that scenarios use, with their method and path. */
export const OPERATIONS = {
  listRoutes: ['GET', '/api/routes'],
  createRoute: ['POST', '/api/routes'],
  deleteRoute: ['DELETE', '/api/routes/{id}'],
  listPlaygroundChats: ['GET', '/api/playground/chats'],
  createPlaygroundChat: ['POST', '/api/playground/chats'],
  deletePlaygroundChat: ['DELETE', '/api/playground/chats/{id}'],
  writePlaygroundMessage: ['POST', '/api/playground/chats/{id}/messages'],
  listPlaygroundEvents: ['GET', '/api/playground/chats/{id}/events'],
  listChatMessages: ['GET', '/api/chats/{id}/messages'],
} as const;

type ScenarioOperation = keyof typeof OPERATIONS;

/** A call of one of the operations. */
interface ScenarioCall {
  id?: string;
  query?: Record<string, string | number | boolean>;
  body?: Record<string, unknown>;
}

/**
 * Calls an operation of the API and returns its JSON.
 * @throws {StepFailedError} the API refuses it
 */
export type CallApi = (operation: ScenarioOperation, call?: ScenarioCall) => Promise<unknown>;

interface ApiWorldOptions {
  call: CallApi;
  /** The route that answers; absent: the routes of the playground decide. */
  route?: ScenarioRoute;
}

const PLAYGROUND = 'playground';
const HISTORY = 50;

interface View {
  id: string;
}
interface ChatView extends View {
  kind: string;
  routeId?: string;
  people: Array<{ phone: string }>;
}

/** The playground of a running service, over its REST API: from the command line, or within the service. */
export class ApiWorld implements ScenarioWorld {
  readonly #options: ApiWorldOptions;
  readonly #madeChats: string[] = [];
  #madeRoute: string | undefined;
  #routeId: string | undefined;

  constructor(options: ApiWorldOptions) {
    this.#options = options;
  }

  async open(chat: ScenarioChat): Promise<ChatId> {
    const routeId = await this.#route();
    const [only] = chat.people;
    const known = chat.kind === 'person' && only?.phone ? await this.#chatOf(only.phone) : undefined;
    if (known) {
      if (routeId === undefined || known.routeId === routeId) return known.id;
      throw new StepFailedError(say('scenario.other-route', { phone: only?.phone ?? '' }));
    }
    const body =
      chat.kind === 'person'
        ? { kind: 'person', name: chat.name, ...(only?.phone && { phone: only.phone }) }
        : { kind: 'group', name: chat.name, people: chat.people };
    const made = await this.#data<View>('createPlaygroundChat', {
      body: { ...body, ...(routeId !== undefined && { routeId }) },
    });
    this.#madeChats.push(made.id);
    return made.id;
  }

  async write(id: ChatId, writing: ScenarioWriting): Promise<string> {
    const stored = await this.#data<{ id?: string }>('writePlaygroundMessage', { id, body: { ...writing } });
    if (stored.id === undefined) throw new StepFailedError(say('scenario.waits'));
    return stored.id;
  }

  async messages(id: ChatId): Promise<ScenarioMessage[]> {
    const query = { direction: 'all', limit: HISTORY };
    const found = await this.#data<Array<ScenarioMessage & { special?: unknown; kind?: string }>>(
      'listChatMessages',
      { id, query },
    );
    return found.filter(({ special, kind }) => special === undefined && kind !== 'reaction');
  }

  events(id: ChatId, after: string, waitMs: number): Promise<ShownEvent[]> {
    const query = { waitMs, ...(after !== '0' && { after }) };
    return this.#data<ShownEvent[]>('listPlaygroundEvents', { id, query });
  }

  async close(): Promise<void> {
    for (const id of this.#madeChats.splice(0)) await this.#tidy('deletePlaygroundChat', id);
    if (this.#madeRoute !== undefined) await this.#tidy('deleteRoute', this.#madeRoute);
    this.#madeRoute = undefined;
  }

  /** What somebody else has deleted meanwhile is not a failure of the scenario. */
  async #tidy(operation: ScenarioOperation, id: string): Promise<void> {
    await this.#options.call(operation, { id }).catch((error: unknown) => {
      if (!(error instanceof StepFailedError)) throw error;
    });
  }

  async #chatOf(phone: string): Promise<ChatView | undefined> {
    const digits = phone.replace(/\D/g, '');
    const chats = await this.#data<ChatView[]>('listPlaygroundChats');
    return chats.find(({ kind, people }) => kind === 'person' && people[0]?.phone === digits);
  }

  /** The id of the route of the scenario, which is made with the first chat. */
  async #route(): Promise<string | undefined> {
    const { route } = this.#options;
    if (route === undefined || this.#routeId !== undefined) return this.#routeId;
    if (typeof route === 'string') {
      const routes = await this.#data<Array<View & { name?: string }>>('listRoutes');
      const found = routes.find(({ id }) => id === route) ?? routes.find(({ name }) => name === route);
      if (!found) throw new StepFailedError(say('scenario.no-route', { route }));
      this.#routeId = found.id;
      return found.id;
    }
    // Switched off: only the chats of the scenario use it.
    const body = { ...route, accountId: PLAYGROUND, channelId: '*', enabled: false, name: 'scenario' };
    this.#routeId = (await this.#data<View>('createRoute', { body })).id;
    this.#madeRoute = this.#routeId;
    return this.#routeId;
  }

  async #data<T>(operation: ScenarioOperation, call?: ScenarioCall): Promise<T> {
    return ((await this.#options.call(operation, call)) as { data: T }).data;
  }
}
