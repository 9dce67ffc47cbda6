import { useEffect, useRef } from 'preact/hooks';
import { type LiveEvent, onLiveEvent } from '../api/live.ts';

/** Changes that come together are loaded together. */
const GATHER_MS = 120;

/**
 * Calls `load` soon after live events, once for those that come together.
 * @param isWanted whether an event changes what is shown; `reset` always does
 */
export function useChanges(isWanted: (event: LiveEvent) => boolean, load: () => void): void {
  const latest = useRef({ isWanted, load });
  latest.current = { isWanted, load };
  useEffect(() => {
    let timer: number | undefined;
    const stop = onLiveEvent((event) => {
      if (event.type !== 'reset' && !latest.current.isWanted(event)) return;
      timer ??= window.setTimeout(() => {
        timer = undefined;
        latest.current.load();
      }, GATHER_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, []);
}
