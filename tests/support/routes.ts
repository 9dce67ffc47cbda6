import type { Route } from '../../router/src/core/models.ts';
import type { TextMatcher } from '../../router/src/core/ports/converters.ts';
import type { NewRoute, RouteStore } from '../../router/src/core/ports/route-store.ts';
import type { MatchResult } from '../../router/src/core/routing/route-message.ts';

let made = 0;

/** A rule for the chat 5493777239922 of account `main`, environment lab; each with another id. */
export function aRoute(fields: Partial<Route> = {}): Route {
  made += 1;
  const at = new Date(Date.UTC(2026, 0, 1));
  return {
    id: `route-${made}`,
    accountId: 'main',
    channelId: '5493777239922',
    agentEndpoint: 'http://127.0.0.1:8000',
    environment: 'lab',
    priority: 0,
    enabled: true,
    config: { agent: { kind: 'adk', settings: { appName: 'test_agent' } } },
    createdAt: at,
    updatedAt: at,
    ...fields,
  };
}

/** The fields of a new route of account `default` for every chat. */
export function aNewRoute(fields: Partial<NewRoute> = {}): NewRoute {
  return {
    accountId: 'default',
    channelId: '*',
    agentEndpoint: 'http://agent.test',
    environment: 'lab',
    priority: 0,
    enabled: true,
    config: {},
    ...fields,
  };
}

/** A store that only answers `candidates`, with those of the given rules that the port promises. */
export function routesOf(routes: Route[]): RouteStore {
  const unused = () => Promise.reject(new Error('only candidates is for use here'));
  return {
    create: unused,
    get: unused,
    list: unused,
    update: unused,
    delete: unused,
    write: unused,
    restore: unused,
    candidates: async ({ accountId, environment, channelIds }) =>
      routes.filter(
        (route) =>
          route.accountId === accountId &&
          route.environment === environment &&
          (route.channelId === '*' || channelIds.includes(route.channelId)),
      ),
  };
}

/** For routes without conditions: nothing is read of the chat, nor of the language of a text. */
export const NO_CONDITIONS = {
  chatStore: { routeFacts: () => Promise.reject(new Error('no condition asks for the chat')) },
  languages: { languageOf: () => Promise.reject(new Error('no condition asks for the language')) },
  conversation: async () => ({}),
};

/** Answers by a function of the pattern and notes what it was asked, in order. */
export class RecordingMatcher implements TextMatcher {
  readonly asked: Array<{ pattern: string; text: string }> = [];
  readonly #answer: (pattern: string, text: string) => MatchResult;

  constructor(answer: (pattern: string, text: string) => MatchResult) {
    this.#answer = answer;
  }

  async test(pattern: string, text: string): Promise<MatchResult> {
    this.asked.push({ pattern, text });
    return this.#answer(pattern, text);
  }
}
