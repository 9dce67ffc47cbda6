import type {
  Artifact,
  Message,
  Part,
  Task,
  TaskArtifactUpdateEvent,
  TaskStatusUpdateEvent,
} from '@a2a-js/sdk';

/** States of a task, with the names of the protocol. */
export type A2aState =
  | 'submitted'
  | 'working'
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'input-required'
  | 'rejected'
  | 'auth-required';

const STATES: Readonly<Record<number, A2aState>> = {
  1: 'submitted',
  2: 'working',
  3: 'completed',
  4: 'failed',
  5: 'canceled',
  6: 'input-required',
  7: 'rejected',
  8: 'auth-required',
};

/** The state of a task; one that this version does not know counts as working. */
export function stateOf({ status }: Pick<Task, 'status'>): A2aState {
  return STATES[status?.state ?? 0] ?? 'working';
}

/** Whether nothing more comes without another message. */
export function isSettled(state: A2aState): boolean {
  return state !== 'submitted' && state !== 'working';
}

/** Whether a task has settled, and not only still shows the question that the message answers. */
export function hasSettled(task: Task, question?: Task): boolean {
  if (!isSettled(stateOf(task))) return false;
  const [now, before] = [task.status, question?.status];
  if (!before || stateOf(task) !== 'input-required') return true;
  const isSame = now?.timestamp === before.timestamp && now?.message?.messageId === before.message?.messageId;
  return !isSame || (now?.timestamp === undefined && now?.message === undefined);
}

/** A task as the events of a stream build it. */
export class TaskView {
  task: Task;

  constructor(task: Pick<Task, 'id' | 'contextId'> & Partial<Task>) {
    this.task = { status: undefined, artifacts: [], history: [], metadata: undefined, ...task };
  }

  status({ status }: TaskStatusUpdateEvent): void {
    this.task = { ...this.task, status };
  }

  artifact({ artifact, append }: TaskArtifactUpdateEvent): void {
    if (!artifact) return;
    const known = this.task.artifacts.find(({ artifactId }) => artifactId === artifact.artifactId);
    const parts = known && append ? [...known.parts, ...artifact.parts] : artifact.parts;
    const others = this.task.artifacts.filter((other) => other !== known);
    this.task = { ...this.task, artifacts: [...others, { ...artifact, parts }] };
  }
}

const FLAGS = { thought: ['adk_thought', 'thought'], tool: ['adk_type'], partial: ['adk_partial'] } as const;

function hasFlag(metadata: Part['metadata'], names: readonly string[]): boolean {
  return names.some((name) => metadata?.[name]);
}

/** What people may see of these parts: not thoughts, not the calls and results of tools. */
function visibleParts(parts: readonly Part[]): Part[] {
  return parts.filter(({ metadata }) => !hasFlag(metadata, FLAGS.thought) && !hasFlag(metadata, FLAGS.tool));
}

/** The parts that the answer of a task consists of, by the artifact or the message that has them. */
export function answerParts(task: Task): Part[][] {
  const state = stateOf(task);
  if (state !== 'completed') return task.status?.message ? [visibleParts(task.status.message.parts)] : [];
  const shown = resultParts(task);
  if (shown.length > 0) return shown;
  const said = task.status?.message ?? task.history.findLast(({ role }) => role === 2);
  return said ? [visibleParts(said.parts)] : [];
}

/** The text of the artifacts that a task has so far, as its answer will have it. */
export function artifactText(task: Pick<Task, 'artifacts'>): string {
  return resultParts(task)
    .map(textOf)
    .filter((text) => text !== '')
    .join('\n\n');
}

/** The artifacts for the person. */
function resultParts({ artifacts }: Pick<Task, 'artifacts'>): Part[][] {
  return artifacts
    .filter((artifact) => !isToolArtifact(artifact))
    .map(({ parts }) => visibleParts(parts))
    .filter((parts) => parts.length > 0);
}

/** An artifact that shows the work of a tool: interim text beside its call, or its result. */
function isToolArtifact({ parts }: Artifact): boolean {
  return parts.some(({ content, metadata }) => content?.$case === 'data' && hasFlag(metadata, FLAGS.tool));
}

/** The text of parts; chunks of a stream follow one another directly. */
export function textOf(parts: readonly Part[]): string {
  return parts
    .flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : []))
    .join('')
    .trim();
}

/** What a running task says about itself; undefined when it says nothing for people. */
export function progressText({ status }: Pick<Task, 'status'>): string | undefined {
  const message = status?.message;
  if (
    !message ||
    hasFlag(message.metadata, FLAGS.partial) ||
    message.parts.some((part) => hasFlag(part.metadata, FLAGS.tool))
  ) {
    return undefined;
  }
  return textOf(visibleParts(message.parts)) || undefined;
}

/** Whether a message of a task's history is this one. */
export function hasMessage({ history }: Pick<Task, 'history'>, messageId: string): boolean {
  return history.some((message: Message) => message.messageId === messageId);
}
