import { Wa2aiError } from '../../core/errors.ts';
import { EngineRefusedError, EngineUnavailableError } from '../../core/hosting/hosting-errors.ts';

/** An error of dockerode: an answer of the engine with its status, or a connection that failed. */
interface EngineFailure {
  status: number | undefined;
  /** What the engine says, on one line. */
  said: string;
}

/** Reads an error of dockerode. Its `json` is the engine's answer; its `message` repeats status and reason. */
export function failureOf(error: unknown): EngineFailure {
  const { statusCode, json, message, code } = (error ?? {}) as {
    statusCode?: number;
    json?: { message?: unknown; cause?: unknown };
    message?: string;
    code?: string;
  };
  const answer = typeof json?.message === 'string' ? json.message : undefined;
  const said = (answer ?? message?.trim() ?? '') || code || 'unknown';
  return { status: statusCode, said: said.replace(/\s+/g, ' ').trim().slice(0, 500) };
}

/**
 * The error for a failed request. Docker and podman answer the same mistakes with different statuses, so callers look at
 * the engine's words first, and only an unknown failure ends here.
 * @param what as a sentence names it: `create container wa2ai-x`
 */
export function engineError(error: unknown, what: string, address: string): Wa2aiError {
  if (error instanceof Wa2aiError) return error;
  const { status, said } = failureOf(error);
  if (status === undefined || status === 502 || status === 503) {
    return new EngineUnavailableError(
      `The container engine at ${address} did not ${what}: ${said}. Check that it runs and that wa2ai may use its socket.`,
      { cause: error },
    );
  }
  return new EngineRefusedError(`The container engine did not ${what}: ${said} (status ${status}).`, {
    cause: error,
  });
}

/** Whether a name is taken: Docker answers 409, podman 500. */
export function isNameTaken({ status, said }: EngineFailure): boolean {
  return (status === 409 || status === 500) && isInOrder(said, 'name ', 'already in use');
}

/** Whether an image is missing: both answer 404, and so they do for a missing network. */
export function isImageMissing({ status, said }: EngineFailure): boolean {
  return (
    status === 404 &&
    (/no such image|image not known/i.test(said) || isInOrder(said, 'unable to find ', 'image'))
  );
}

/** Whether the addresses of a network are taken by another network or an interface of the machine. */
export function isSubnetTaken({ status, said }: EngineFailure): boolean {
  return (
    status !== undefined && status >= 400 && /overlap|already used|conflicts with|being used/i.test(said)
  );
}

function isInOrder(said: string, first: string, second: string): boolean {
  const words = said.toLowerCase();
  const at = words.indexOf(first);
  return at >= 0 && words.includes(second, at);
}
