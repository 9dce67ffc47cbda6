import { type ErrorCode, errorOf, Wa2aiError } from '../errors.ts';
import { type Said, say } from '../phrases.ts';

/** No container engine answers; nothing was changed. The sentence says which sockets were searched. */
export class EngineUnavailableError extends errorOf('CONTAINER_ENGINE_UNAVAILABLE', 'retry') {}

/** The engine refused a request, and the same request fails again; the sentence contains the engine's reason. */
export class EngineRefusedError extends errorOf('CONTAINER_ENGINE_REFUSED', 'dead') {}

/** The image is not on this machine. */
export class ImageMissingError extends Wa2aiError {
  constructor(image: string, options?: { cause?: unknown }) {
    super('IMAGE_MISSING', 'dead', say('hosted.image-missing', { image }), options);
  }
}

/** The image could not be pulled. */
export class ImagePullError extends errorOf('IMAGE_PULL_FAILED', 'retry') {}

/** Another container has this name already; nothing was created. */
export class ContainerNameTakenError extends Wa2aiError {
  constructor(name: string, options?: { cause?: unknown }) {
    super('CONTAINER_NAME_TAKEN', 'retry', say('hosted.name-taken', { name }), options);
  }
}

/** What a shell runtime reports: an error of the command, of the session, or of a file. */
export type ShellFault =
  | 'syntax'
  | 'timeout'
  | 'session-missing'
  | 'session-exists'
  | 'session-ended'
  | 'not-known'
  | 'not-interrupted'
  | 'file'
  | 'other';

/** A shell runtime reported an error; the sentence has no text of the command. */
export class ShellError extends Wa2aiError {
  readonly fault: ShellFault;
  /** What the person may read: the shell's own message, and the output of a shell that ended. */
  readonly forPerson: string;

  constructor(fault: ShellFault, said: Said, forPerson: string) {
    super('SHELL_ERROR', 'dead', said);
    this.fault = fault;
    this.forPerson = forPerson;
  }
}

/** The agent belongs to another node that runs: the message is handled there. */
export class AgentElsewhereError extends Wa2aiError {
  readonly nodeId: string;

  constructor(agentId: string, nodeId: string) {
    super('AGENT_ELSEWHERE', 'retry', say('hosted.runs-elsewhere', { agent: agentId, node: nodeId }));
    this.nodeId = nodeId;
  }
}

/** The hosted agent did not start; the sentence has the last lines of its log. */
export class AgentStartError extends errorOf('AGENT_START_FAILED', 'retry') {}

/** The hosted agent cannot run until somebody acts: the sentence says what. */
export class AgentUnusableError extends Wa2aiError {
  constructor(code: ErrorCode, said: Said, options?: { cause?: unknown }) {
    super(code, 'dead', said, options);
  }
}
