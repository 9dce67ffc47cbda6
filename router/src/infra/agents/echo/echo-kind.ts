import { z } from 'zod';
import { agentKind } from '../agent-kind.ts';
import { EchoAgentClient } from './echo-agent-client.ts';

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
