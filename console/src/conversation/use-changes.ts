import { useEffect, useRef } from 'preact/hooks';
import { type LiveEvent, onLiveEvent } from '../api/live.ts';

/** Changes that come together are loaded together. */
const GATHER_MS = 120;

/**
 * Calls `load` soon after live events, once for those that come together or while it runs.
 * @param isWanted whether an event changes what is shown; `reset` always does
 */
export function useChanges(isWanted: (event: LiveEvent) => boolean, load: () => Promise<void>): void {
  const latest = useRef({ isWanted, load });
  latest.current = { isWanted, load };
  useEffect(() => {
    let timer: number | undefined;
    let isRunning = false;
    let isWaiting = false;
    let isOver = false;
    const schedule = () => {
      isWaiting = true;
      if (isRunning || isOver) return;
      timer ??= window.setTimeout(async () => {
        timer = undefined;
        [isRunning, isWaiting] = [true, false];
        await latest.current.load();
        isRunning = false;
        if (isWaiting) schedule();
      }, GATHER_MS);
    };
    const stop = onLiveEvent((event) => {
      if (event.type === 'reset' || latest.current.isWanted(event)) schedule();
    });
    return () => {
      isOver = true;
      stop();
      clearTimeout(timer);
    };
  }, []);
}
