import { z } from 'zod';
import type { AgentClient, AttemptOptions } from '../../../core/agent-client.ts';
import type { AgentResponse, IncomingMessage } from '../../../core/models.ts';
import { agentKind } from '../agent-kind.ts';

/** Answers with the text of the message, and names its file. Needs no request, so it never fails. */
class EchoAgentClient implements AgentClient {
  readonly #prefix: string;

  constructor(prefix = '') {
    this.#prefix = prefix;
  }

  async sendMessage(
    _endpoint: string,
    { text, media }: IncomingMessage,
    options?: AttemptOptions,
  ): Promise<AgentResponse> {
    await options?.beforeRequest?.();
    const file = media && `[${[media.kind, media.fileName ?? media.mimeType].join(': ')}]`;
    const response = this.#prefix + [text, file].filter(Boolean).join('\n');
    return { success: true, response, isPlain: true };
  }

  async takesFile(): Promise<boolean> {
    return true;
  }

  async preview({ text }: IncomingMessage): Promise<Record<string, unknown>> {
    return { text };
  }
}

const echoSettings = z.strictObject({
  prefix: z
    .string()
    .max(100)
    .optional()
    .describe('Text before each answer, such as `Echo: `. Default: none.'),
});

/** An agent inside wa2ai that repeats what it gets: for trying wa2ai without an agent. */
export const echoKind = agentKind<z.output<typeof echoSettings>>({
  name: 'echo',
  description: 'Repeats each message, without any server: for trying wa2ai only.',
  settings: echoSettings,
  hasNoEndpoint: () => true,
  endpointOf: () => 'echo:',
  client:
    () =>
    ({ prefix }) =>
      new EchoAgentClient(prefix),
});
