import type { Message, Task } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';

export type A2aVersion = '1.0' | '0.3';
export type A2aBinding = 'JSONRPC' | 'HTTP+JSON';

/** The official client of the SDK, for one version and one binding, with a key if it is given. */
export async function a2aClient(
  url: string,
  {
    version = '1.0',
    binding = 'JSONRPC',
    key,
  }: { version?: A2aVersion; binding?: A2aBinding; key?: string } = {},
): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    if (key !== undefined) headers.set('x-api-key', key);
    return fetch(input, { ...init, headers });
  };
  const legacyCompat = { enabled: version === '0.3' };
  const options = { fetchImpl, legacyCompat };
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [new JsonRpcTransportFactory(options), new RestTransportFactory(options)],
      cardResolver: new DefaultAgentCardResolver(options),
    }),
  );
  const resolver = new DefaultAgentCardResolver(options);
  const card = await resolver.resolve(url);
  const supportedInterfaces = card.supportedInterfaces.filter(
    (each) => each.protocolVersion === version && each.protocolBinding === binding,
  );
  return factory.createFromAgentCard({ ...card, supportedInterfaces });
}

let messages = 0;

/** A request with a text, a data part, or both. */
export function a2aRequest(
  { text, data, ...given }: { text?: string; data?: Record<string, unknown> } & Partial<Message>,
  configuration: { returnImmediately?: boolean } = {},
) {
  messages += 1;
  const part = { metadata: undefined, filename: '', mediaType: '' };
  const message: Message = {
    messageId: `m-${process.pid}-${messages}`,
    contextId: '',
    taskId: '',
    role: 1,
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    parts: [
      ...(text === undefined ? [] : [{ ...part, content: { $case: 'text' as const, value: text } }]),
      ...(data === undefined ? [] : [{ ...part, content: { $case: 'data' as const, value: data } }]),
    ],
    ...given,
  };
  return {
    tenant: '',
    metadata: undefined,
    message,
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: false,
      ...configuration,
    },
  };
}

const STATES = [
  'unspecified',
  'submitted',
  'working',
  'completed',
  'failed',
  'canceled',
  'input-required',
  'rejected',
  'auth-required',
];

/** What a test looks at. */
export function seen(task: Message | Task | undefined) {
  if (!task || !('status' in task)) throw new Error('not a task');
  const textOf = (parts: Message['parts'] = []) =>
    parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
  return {
    id: task.id,
    contextId: task.contextId,
    state: STATES[task.status?.state ?? 0],
    said: textOf(task.status?.message?.parts),
    answer: task.artifacts.map(({ parts }) => textOf(parts)).join('\n'),
  };
}

/** The states of a stream, until it ends. */
export async function statesOf(
  stream: ReturnType<Client['sendMessageStream']>,
  onTask: (id: string) => void = () => undefined,
): Promise<string[]> {
  const states: string[] = [];
  for await (const { payload } of stream) {
    if (payload?.$case === 'task') {
      onTask(payload.value.id);
      states.push(STATES[payload.value.status?.state ?? 0] ?? '');
    }
    if (payload?.$case === 'statusUpdate') states.push(STATES[payload.value.status?.state ?? 0] ?? '');
    if (payload?.$case === 'artifactUpdate') states.push(`artifact ${payload.value.artifact?.name}`);
  }
  return states;
}
