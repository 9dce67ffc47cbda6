import nock from 'nock';
import { afterEach, expect } from 'vitest';
import type { Wa2aiError } from '../../router/src/core/errors.ts';
import type { IncomingMessage } from '../../router/src/core/models.ts';
import { HttpAgentClient } from '../../router/src/infra/http-agent-client.ts';
import { mockNetwork } from './mocked-network.ts';

type HttpAgentClientConfig = ConstructorParameters<typeof HttpAgentClient>[0];

/** What the tests of HttpAgentClient share: an ADK server out of expected requests, and what is asked of it. */

export const url = 'http://localhost:8000';
export const sessionId = '5493777239922_5493777239922';
export const sessionPath = `/apps/my_sample_agent/users/5493777239922/sessions/${sessionId}`;

/** The message of the contract's usage example. */
export function aMessage(changes: Partial<IncomingMessage> = {}): IncomingMessage {
  return {
    id: 'msg_001',
    from: '5493777239922@s.whatsapp.net',
    channelId: '5493777239922',
    text: 'Hello',
    timestamp: new Date(0),
    ...changes,
  };
}

export function aClient(
  config: Partial<HttpAgentClientConfig> = {},
  adk: Partial<HttpAgentClientConfig['adk']> = {},
) {
  return new HttpAgentClient({
    timeout: 30_000,
    ...config,
    adk: { appName: 'my_sample_agent', baseUrl: url, ...adk },
  });
}

export const snakeBody = {
  app_name: 'my_sample_agent',
  user_id: '5493777239922',
  session_id: sessionId,
  new_message: { parts: [{ text: 'Hello' }] },
  streaming: false,
  state_delta: null,
  invocation_id: null,
};

export const camelBody = {
  appName: 'my_sample_agent',
  userId: '5493777239922',
  sessionId,
  newMessage: { role: 'user', parts: [{ text: 'Hello' }] },
  streaming: false,
  stateDelta: {
    wa2ai_msg: 'msg_001',
    wa2ai_time: '1970-01-01T00:00:00.000Z',
    wa2ai_name: '',
    wa2ai_chat: 'person',
    wa2ai_quoted: '',
    wa2ai_edit_of: '',
    wa2ai_mentions: [],
    wa2ai_number: '5493777239922',
    wa2ai_lid: '',
    wa2ai_subject: '',
    wa2ai_language: 'en',
    wa2ai_quoted_by: {},
    wa2ai_kind: 'text',
    wa2ai_file: {},
    wa2ai_card: {},
    wa2ai_transcript: false,
  },
};

export const isSnake = (body: object) => 'app_name' in body;
export const isCamel = (body: object) => 'appName' in body;

export function anEvent(text: string, changes: object = {}) {
  return {
    content: { parts: [{ text }], role: 'model' },
    invocationId: 'e-7e18',
    author: 'model',
    actions: { stateDelta: {}, artifactDelta: {} },
    ...changes,
  };
}

export const never = () => new Promise<never>(() => undefined);

/** The error an ask ends with; fails when it ends with an answer. */
export async function errorOf(asked: Promise<unknown>): Promise<Wa2aiError> {
  const outcome = await asked.then(
    (answer) => ({ answer }),
    (error: unknown) => ({ error }),
  );
  if ('error' in outcome) return outcome.error as Wa2aiError;
  throw new Error(`it answered ${JSON.stringify(outcome.answer)}`);
}

/** Answers every session request with 404 and records the requests. */
export function watchSessions(): { asked: string[] } {
  const asked: string[] = [];
  for (const method of ['GET', 'POST']) {
    nock(url)
      .intercept(/^\/apps\//, method)
      .optionally()
      .reply(() => {
        asked.push(method);
        return [404, 'Not found'];
      });
  }
  return { asked };
}

/** A session that contains our message msg_001 and these events of its run. */
export function aSession(events: object[]) {
  const own = { author: 'user', invocationId: 'e-7e18', actions: { stateDelta: { wa2ai_msg: 'msg_001' } } };
  return { id: sessionId, events: [anEvent('of an older turn', { invocationId: 'e-0' }), own, ...events] };
}

export function aToolCall() {
  const parts = [{ text: 'Let me look that up. ' }, { functionCall: { name: 'get_weather', args: {} } }];
  return anEvent('', { author: 'front_desk', content: { role: 'model', parts } });
}

/** A clock whose pauses end at once; its time limits (5 s and more) end only when the test ends them. */
export class JumpingClock {
  #nowMs = 0;
  #limits: Array<() => void> = [];

  now(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms < 5_000) {
      this.#nowMs += ms;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      this.#limits.push(resolve);
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }

  /** Ends the first limit that was set: the one of the whole ask. */
  async endLimit(): Promise<void> {
    await untilTrue(() => this.#limits.length > 0);
    this.#limits.shift()?.();
  }
}

export async function untilTrue(holds: () => boolean): Promise<void> {
  for (let round = 0; round < 10_000 && !holds(); round++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(holds()).toBe(true);
}

/** Waits until every expected request was made. */
export function untilNoMocks(): Promise<void> {
  return untilTrue(() => nock.isDone());
}

/** For every test of the file: requests are answered as `nock` says, and all that was expected must have come. */
export function mockAgentServer(): void {
  mockNetwork();
  afterEach(() => {
    const left = nock.pendingMocks();
    nock.cleanAll();
    expect(left).toEqual([]);
  });
}
