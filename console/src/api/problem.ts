/** An error response of the API, or no response at all (status 0). */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  /** The fields of the request that are wrong. */
  readonly details: ReadonlyArray<{ field: string; message: string }>;

  constructor(status: number, code: string, message: string, details: Problem['details'] = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** Any thrown thing as a problem. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem(0, 'UNREACHABLE', error instanceof Error ? error.message : String(error));
}
