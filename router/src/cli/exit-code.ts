/** Exit codes of `wa2ai`. docs/cli.md explains them. */
export const EXIT = {
  success: 0,
  /** What was asked for failed, or was not found. */
  failed: 1,
  /** The command was written wrongly. Nothing was done. */
  usage: 2,
  /** No service answers. */
  unreachable: 3,
  /** The service refuses the caller: no key, a wrong key, a missing scope, a limit. */
  refused: 4,
} as const;

/** Why a command failed: a sentence that says what to do, and the exit code. */
export class CliError extends Error {
  readonly exitCode: number;
  /** HTTP status of the answer of the service, if there is one. */
  readonly status: number | undefined;

  constructor(
    message: string,
    exitCode: number = EXIT.failed,
    options?: { cause?: unknown; status?: number },
  ) {
    super(message, options);
    this.exitCode = exitCode;
    this.status = options?.status;
  }
}

/** A command that is written wrongly: one sentence without a full stop. */
export class CliUsageError extends CliError {
  constructor(message: string) {
    super(message, EXIT.usage);
  }
}
