import type { AgentClient } from '../../core/agent-client.ts';
import type { AgentResponse, IncomingMessage } from '../../core/models.ts';
import { type ToolInput, type ToolOption, ToolUsageError } from './agent-tools.ts';

/** Writes messages as one person of a test. */
export interface TestPerson {
  says(text: string): IncomingMessage;
}

/** A person with a number that no phone has and that is new, so that the conversation is new. */
export function newTestPerson(): TestPerson {
  const digits = `999${crypto.getRandomValues(new Uint32Array(1))[0]}`;
  let sent = 0;
  return {
    says: (text) => {
      sent += 1;
      const id = `WA2AI-TEST-${digits}-${sent}`;
      return { id, from: `${digits}@s.whatsapp.net`, channelId: digits, text, timestamp: new Date() };
    },
  };
}

/** Option of the tools that write to an agent. */
export const messageOption: ToolOption = { name: 'message', value: 'TEXT', help: 'what the person writes' };

/**
 * Sends `--message` to the agent as a new person.
 * @returns the answer, and how long it took in milliseconds
 * @throws {ToolUsageError} the option is missing
 */
export async function sendAsTestPerson(
  input: ToolInput,
  clientOf: () => AgentClient | Promise<AgentClient>,
): Promise<{ answer: AgentResponse; ms: number }> {
  const { message } = input.options;
  if (message === undefined) throw new ToolUsageError('--message is missing: what the person writes');
  const client = await clientOf();
  const startedMs = input.clock.monotonicMs();
  const answer = await client.sendMessage(input.url, newTestPerson().says(message));
  return { answer, ms: Math.round(input.clock.monotonicMs() - startedMs) };
}
