import type { AttemptOptions } from '../agent-client.ts';
import type { HostedAgent } from '../hosting/agent-spec.ts';
import type { AgentResponse, IncomingMessage } from '../models.ts';
import type { RunningAgent } from './agent-probe.ts';

/** One message of a conversation with an agent, without calls of tools. */
export interface AgentMessage {
  role: 'user' | 'assistant';
  content: string;
}

/** The conversation that is read or continued. */
export type Conversation = Pick<IncomingMessage, 'from' | 'channelId'>;

/** Talks to a hosted agent that runs, as its profile says. */
export interface AgentTalk {
  /** Makes one attempt. @throws as `AgentClient.sendMessage` */
  ask(
    agent: HostedAgent,
    running: RunningAgent,
    message: IncomingMessage,
    options?: AttemptOptions,
  ): Promise<AgentResponse>;
  /**
   * The newest messages that the agent has stored, oldest first.
   * @throws {AgentUnusableError} the profile has no history
   * @throws {AgentUnavailableError} it did not answer
   * @throws {AgentProtocolError} its answer is no history
   */
  history(
    agent: HostedAgent,
    running: RunningAgent,
    conversation: Conversation,
    options: { count: number; signal: AbortSignal },
  ): Promise<AgentMessage[]>;
}
