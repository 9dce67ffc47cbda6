import { useEffect, useState } from 'preact/hooks';
import { urlOf } from '../../api/call.ts';

/** Lines that the page keeps; older ones are dropped. */
export const MAX_LINES = 2_000;
const TAIL = 500;
/** Lines that arrive within this time are drawn together. */
const GATHER_MS = 100;
const RECONNECT_MS = 3_000;

interface LogLine {
  /** Grows with each line. */
  number: number;
  stream: 'stdout' | 'stderr';
  text: string;
}

/** The log of an agent, and whether new lines arrive. `refused`: the service does not give it. */
export interface FollowedLog {
  lines: readonly LogLine[];
  state: 'live' | 'ended' | 'lost';
}

/**
 * Follows what an agent writes, with at most `MAX_LINES` in memory. Begins again with each `round`.
 * @param isPaused lines are collected and not drawn
 */
export function useLog(id: string, round: string, isPaused: boolean): FollowedLog {
  const [log, setLog] = useState<FollowedLog>({ lines: [], state: 'live' });
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    let lines: LogLine[] = [];
    let number = 0;
    let state: FollowedLog['state'] = 'live';
    let drawing: number | undefined;
    let again: number | undefined;
    const draw = () => {
      drawing ??= window.setTimeout(() => {
        drawing = undefined;
        setLog({ lines, state });
      }, GATHER_MS);
    };
    const source = new EventSource(
      urlOf('GET /api/agents/{id}/logs', { path: { id }, query: { follow: true, tail: TAIL } }),
    );
    source.onmessage = ({ data }: MessageEvent<string>) => {
      number += 1;
      lines = [...lines.slice(1 - MAX_LINES), { ...(JSON.parse(data) as Omit<LogLine, 'number'>), number }];
      draw();
    };
    source.addEventListener('end', () => {
      source.close();
      state = 'ended';
      draw();
    });
    source.onerror = () => {
      // The browser would ask for the same lines again.
      source.close();
      state = 'lost';
      draw();
      again = window.setTimeout(() => setAttempt((before) => before + 1), RECONNECT_MS);
    };
    draw();
    return () => {
      source.close();
      clearTimeout(drawing);
      clearTimeout(again);
    };
  }, [id, round, attempt]);
  const [frozen, setFrozen] = useState<FollowedLog>();
  useEffect(() => setFrozen(isPaused ? log : undefined), [isPaused]);
  return isPaused ? (frozen ?? log) : log;
}
