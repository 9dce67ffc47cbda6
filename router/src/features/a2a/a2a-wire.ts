import type { Message, Task } from '@a2a-js/sdk';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { z } from 'zod';
import type {
  CallerMessage,
  ServedArtifact,
  ServedState,
  ServedTask,
  ServedUpdate,
} from '../tasks/served-tasks.ts';

/** What a stream of the protocol consists of. */
export type StreamEvent =
  ReturnType<A2ARequestHandler['resubscribe']> extends AsyncGenerator<infer Event> ? Event : never;
type Part = Message['parts'][number];

/** The protocol's enumeration of states. */
const STATES: Record<ServedState, number> = {
  submitted: 1,
  working: 2,
  completed: 3,
  failed: 4,
  canceled: 5,
  'input-required': 6,
  rejected: 7,
};
const ROLE_USER = 1;
const ROLE_AGENT = 2;

/** The state of a number of the enumeration; undefined for one that wa2ai has no tasks in. */
export function stateOf(value: number): ServedState | undefined {
  return (Object.keys(STATES) as ServedState[]).find((state) => STATES[state] === value);
}

/** What a program may say in a data part. */
const dataSchema = z.object({
  skill: z.string().min(1).max(200).optional(),
  to: z.string().max(200).optional(),
  text: z.string().max(65_536).optional(),
  deadlineMinutes: z.number().min(1).max(43_200).optional(),
  accountId: z.string().max(100).optional(),
});

export type A2aInput = Omit<z.output<typeof dataSchema>, 'text'> & { text: string };

/** What a message asks for; or a sentence about what is wrong with it. */
export function inputOf(message: Message): A2aInput | { problem: string } {
  const texts: string[] = [];
  let data: unknown = {};
  for (const { content } of message.parts) {
    if (content?.$case === 'text') texts.push(content.value);
    else if (content?.$case === 'data') data = content.value;
    else return { problem: 'Only text parts and a data part are supported.' };
  }
  const parsed = dataSchema.safeParse(data);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { problem: `${issue?.path.join('.') || 'The data part'}: ${issue?.message ?? 'is not valid'}.` };
  }
  const text = parsed.data.text ?? texts.join('\n');
  if (text.length > 65_536) return { problem: 'The text must have at most 65536 characters.' };
  return { ...parsed.data, text };
}

/** A task as the protocol shows it. @param historyLength absent: all messages */
export function taskOf(task: ServedTask, historyLength?: number): Task {
  const said = task.messages.map((message) => messageOf(task, message));
  return {
    id: task.id,
    contextId: task.contextId,
    status: statusOf(task, task.updates.at(-1)),
    artifacts: task.updates.flatMap(({ artifact }) => (artifact ? [artifactOf(artifact)] : [])),
    history: historyLength === undefined ? said : historyLength === 0 ? [] : said.slice(-historyLength),
    metadata: undefined,
  };
}

/** The events of an update: its artifact, then its state. */
export function eventsOf(task: ServedTask, update: ServedUpdate): StreamEvent[] {
  const artifact = artifactEventOf(task, update);
  return [...(artifact ? [artifact] : []), stateEventOf(task, update)];
}

export function artifactEventOf(task: ServedTask, { artifact }: ServedUpdate): StreamEvent | undefined {
  if (!artifact) return undefined;
  const value = { ...aboutOf(task), artifact: artifactOf(artifact), append: false, lastChunk: true };
  return { payload: { $case: 'artifactUpdate', value } };
}

export function stateEventOf(task: ServedTask, update: ServedUpdate): StreamEvent {
  return {
    payload: { $case: 'statusUpdate', value: { ...aboutOf(task), status: statusOf(task, update) } },
  };
}

function aboutOf({ id, contextId }: ServedTask) {
  return { taskId: id, contextId, metadata: undefined };
}

function statusOf(task: ServedTask, update: ServedUpdate | undefined): Task['status'] {
  const text = update?.text;
  return {
    state: STATES[update?.state ?? 'submitted'],
    message: text === undefined ? undefined : agentMessage(task, `${task.id}-${update?.number}`, text),
    timestamp: (update?.at ?? task.createdAt).toISOString(),
  };
}

function messageOf(task: ServedTask, { messageId, text }: CallerMessage): Message {
  return { ...agentMessage(task, messageId, text), role: ROLE_USER };
}

function agentMessage({ id, contextId }: ServedTask, messageId: string, text: string): Message {
  return {
    messageId,
    contextId,
    taskId: id,
    role: ROLE_AGENT,
    parts: [textPart(text)],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}

function artifactOf({ name, text, data }: ServedArtifact): Task['artifacts'][number] {
  const parts: Part[] = [];
  if (text !== undefined) parts.push(textPart(text));
  if (data !== undefined) {
    parts.push({
      content: { $case: 'data', value: data },
      metadata: undefined,
      filename: '',
      mediaType: 'application/json',
    });
  }
  return { artifactId: name, name, description: '', parts, metadata: undefined, extensions: [] };
}

function textPart(value: string): Part {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' };
}
