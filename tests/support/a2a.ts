import { onTestFinished } from 'vitest';
import type { AttemptStore } from '../../router/src/core/agent-client.ts';
import type { Clock } from '../../router/src/core/clock.ts';
import type { AgentSession, StoredTask } from '../../router/src/core/tasks.ts';
import { A2aAgentClient } from '../../router/src/infra/agents/a2a/a2a-agent-client.ts';
import type { A2aSettings } from '../../router/src/infra/agents/a2a/a2a-settings.ts';
import { A2aCards } from '../../router/src/infra/agents/a2a/card/a2a-cards.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import { holdingClock } from '../../router/src/infra/clock/system-clock.ts';
import { A2aDouble, type A2aDoubleOptions } from '../doubles/a2a-agent.ts';

/** A stand-in agent, stopped at the end of the test. */
export async function a2aDouble(options: A2aDoubleOptions = {}): Promise<A2aDouble> {
  const agent = await A2aDouble.start(options);
  onTestFinished(() => agent.stop());
  return agent;
}

/** A client as a route with these settings has one. */
export function a2aClient(a2a: A2aSettings = {}, clock: Clock = holdingClock): A2aAgentClient {
  const transport = new AgentTransport();
  const cards = new A2aCards(clock, transport);
  return new A2aAgentClient({ a2a, timeoutMs: 30_000, clock, transport, cards });
}

/** What a route stores for one chat, in memory; every message is the same one. */
export class ChatStore implements AttemptStore {
  added: string[] = [];
  stored: AgentSession | undefined;
  chat: StoredTask[] = [];

  async tasks(): Promise<StoredTask[]> {
    return this.added.map((remoteId) => ({ remoteId, isOpen: true }));
  }

  async addTask(remoteId: string): Promise<void> {
    if (!this.added.includes(remoteId)) this.added.push(remoteId);
  }

  async chatTasks(): Promise<StoredTask[]> {
    return this.chat;
  }

  async knownTasks(): Promise<string[]> {
    return [];
  }

  async session(): Promise<AgentSession | undefined> {
    return this.stored;
  }

  async saveSession(session: AgentSession): Promise<void> {
    this.stored = session;
  }
}
