import { isLoggedOccurrence } from '../../../core/log-throttle.ts';
import type { Logger } from '../../../core/ports/logger.ts';

const METHODS = ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const;
const FROM_LIBSIGNAL = /[\\/]libsignal[\\/]/;

/**
 * Suppresses libsignal's console output: it prints whole sessions, with private keys, each time that one opens, closes
 * or cannot decrypt. Only its calls, recognised by the stack, are suppressed and counted. Install before the first
 * socket; guards may be stacked and are removed in reverse order. Workaround: refs/baileys-workarounds.md.
 * @returns removes the guard
 */
export function guardConsole(log: Logger): () => void {
  const target = globalThis.console;
  const originals = METHODS.map((method) => [method, target[method]] as const);
  let suppressed = 0;
  for (const [method, original] of originals) {
    target[method] = (...args: unknown[]) => {
      if (FROM_LIBSIGNAL.test(new Error().stack ?? '')) {
        suppressed += 1;
        // Many undecryptable messages print thousands of lines.
        if (isLoggedOccurrence(suppressed)) log.debug({ suppressed }, 'libsignal console output suppressed');
        return;
      }
      original.apply(target, args);
    };
  }
  return () => {
    for (const [method, original] of originals) target[method] = original;
  };
}
