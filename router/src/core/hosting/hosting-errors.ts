import { type ErrorCode, errorOf, Wa2aiError } from '../errors.ts';

/** No container engine answers; nothing was changed. The sentence says which sockets were searched. */
export class EngineUnavailableError extends errorOf('CONTAINER_ENGINE_UNAVAILABLE', 'retry') {}

/** The engine refused a request, and the same request fails again; the sentence contains the engine's reason. */
export class EngineRefusedError extends errorOf('CONTAINER_ENGINE_REFUSED', 'dead') {}

/** The image is not on this machine. */
export class ImageMissingError extends Wa2aiError {
  constructor(image: string, options?: { cause?: unknown }) {
    super(
      'IMAGE_MISSING',
      'dead',
      `The image ${image} is not on this machine. Load it, or set pull to "missing" so that wa2ai pulls it.`,
      options,
    );
  }
}

/** The image could not be pulled. */
export class ImagePullError extends errorOf('IMAGE_PULL_FAILED', 'retry') {}

/** Another container has this name already; nothing was created. */
export class ContainerNameTakenError extends Wa2aiError {
  constructor(name: string, options?: { cause?: unknown }) {
    super('CONTAINER_NAME_TAKEN', 'retry', `A container with the name ${name} exists already.`, options);
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

  constructor(fault: ShellFault, message: string, forPerson: string) {
    super('SHELL_ERROR', 'dead', message);
    this.fault = fault;
    this.forPerson = forPerson;
  }
}

/** The agent belongs to another node that runs: the message is handled there. */
export class AgentElsewhereError extends Wa2aiError {
  readonly nodeId: string;

  constructor(agentId: string, nodeId: string) {
    super('AGENT_ELSEWHERE', 'retry', `The hosted agent ${agentId} runs on node "${nodeId}".`);
    this.nodeId = nodeId;
  }
}

/** The hosted agent did not start; the sentence has the last lines of its log. */
export class AgentStartError extends errorOf('AGENT_START_FAILED', 'retry') {}

/** The hosted agent cannot run until somebody acts: the sentence says what. */
export class AgentUnusableError extends Wa2aiError {
  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(code, 'dead', message, options);
  }
}
