/** The errors of the runtime that clients know, by the Python class that they look for. */
export const CLASSES = {
  sessionExists: 'swerex.exceptions.SessionExistsError',
  sessionMissing: 'swerex.exceptions.SessionDoesNotExistError',
  nonZeroExit: 'swerex.exceptions.NonZeroExitCodeError',
  syntax: 'swerex.exceptions.BashIncorrectSyntaxError',
  timeout: 'swerex.exceptions.CommandTimeoutError',
  noExitCode: 'swerex.exceptions.NoExitCodeError',
  notInterrupted: 'pexpect.exceptions.TIMEOUT',
  ended: 'pexpect.exceptions.EOF',
  value: 'builtins.ValueError',
  badZip: 'zipfile.BadZipFile',
} as const;

/** An error that the client gets as HTTP 511, with the class that it can tell errors apart by. */
export class RuntimeFault extends Error {
  readonly classPath: string;
  readonly extraInfo: Record<string, unknown>;

  constructor(classPath: string, message: string, extraInfo: Record<string, unknown> = {}) {
    super(message);
    this.name = 'RuntimeFault';
    this.classPath = classPath;
    this.extraInfo = extraInfo;
  }
}

/** A request that does not have the form of the API: HTTP 422, or another status. */
export class RequestError extends Error {
  readonly status: number;
  readonly detail: unknown;

  constructor(status: number, detail: unknown) {
    super(typeof detail === 'string' ? detail : 'The request is not valid.');
    this.name = 'RequestError';
    this.status = status;
    this.detail = detail;
  }
}

const OS_ERRORS: Record<string, [number: number, text: string, className: string]> = {
  EPERM: [1, 'Operation not permitted', 'PermissionError'],
  ENOENT: [2, 'No such file or directory', 'FileNotFoundError'],
  EACCES: [13, 'Permission denied', 'PermissionError'],
  EEXIST: [17, 'File exists', 'FileExistsError'],
  ENOTDIR: [20, 'Not a directory', 'NotADirectoryError'],
  EISDIR: [21, 'Is a directory', 'IsADirectoryError'],
  ENOSPC: [28, 'No space left on device', 'OSError'],
  EROFS: [30, 'Read-only file system', 'OSError'],
};

/** An error of the operating system as Python names it; any other error stays as it is. */
export function osFault(error: unknown, path: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const known = OS_ERRORS[code];
  if (!known) return error;
  const [number, text, className] = known;
  const about = error instanceof Error && 'path' in error ? String(error.path) : path;
  return new RuntimeFault(`builtins.${className}`, `[Errno ${number}] ${text}: ${pyRepr(about)}`);
}

const ESCAPES: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** A string as Python's `repr` writes it: messages of errors quote commands and paths so. */
export function pyRepr(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let out = '';
  for (const char of text) {
    const isPrintable = char === ' ' || !/[\p{C}\p{Z}]/u.test(char);
    if (char === quote) out += `\\${char}`;
    else out += ESCAPES[char] ?? (isPrintable ? char : escaped(char.codePointAt(0) ?? 0));
  }
  return quote + out + quote;
}

function escaped(code: number): string {
  const hex = code.toString(16);
  if (code < 0x100) return `\\x${hex.padStart(2, '0')}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

/** A number of seconds as Python writes a float. */
export function pyFloat(seconds: number): string {
  return Number.isInteger(seconds) ? `${seconds}.0` : String(seconds);
}
