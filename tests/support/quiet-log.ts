import type { Logger } from '../../router/src/core/logger.ts';

export interface LoggedLine {
  level: string;
  fields: Record<string, unknown>;
  message: string;
}

/** A logger that records its lines for a test and writes nothing. */
export function recordingLog(
  lines: LoggedLine[] = [],
  bindings: Record<string, unknown> = {},
): Logger & { lines: LoggedLine[] } {
  const at = (level: string) => (fields: object, message: string) => {
    lines.push({ level, fields: { ...bindings, ...fields }, message });
  };
  return {
    lines,
    trace: at('trace'),
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (more) => recordingLog(lines, { ...bindings, ...more }),
  };
}

const nothing = () => undefined;

/** A logger that discards its lines. */
export const quietLog: Logger = {
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => quietLog,
};
