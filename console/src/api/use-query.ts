import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Args, call, type Operation, type ResponseOf } from './call.ts';
import { type LiveEvent, type LiveType, onLiveEvent } from './live.ts';
import { type Problem, problemOf } from './problem.ts';

/** Events within this time cause one request. */
const GATHER_MS = 150;

/** The last answer of each call, shown immediately when a page opens again. */
const answers = new Map<string, unknown>();
const MAX_ANSWERS = 200;

/** A call and its state. */
export interface Query<Data> {
  /** The last answer, also while it is loaded again. */
  data: Data | undefined;
  /** Why the last request failed; undefined after one that did not. */
  problem: Problem | undefined;
  isLoading: boolean;
  reload(): void;
}

/**
 * Calls the API when the component appears, when the parameters change, and when a live event of one of the types arrives.
 * `args` null: no call.
 * @param on live events that change the answer; a function chooses among them
 */
export function useQuery<Name extends Operation>(
  operation: Name,
  args: Args<Name> | null = {},
  on: readonly LiveType[] | ((event: LiveEvent) => boolean) = [],
): Query<ResponseOf<Name>> {
  const key =
    args === null ? undefined : `${operation} ${JSON.stringify([args.path, args.query, args.body])}`;
  const [state, setState] = useState<{ key?: string; data?: unknown; problem?: Problem; isLoading: boolean }>(
    {
      isLoading: args !== null,
    },
  );
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  const latest = useRef(on);
  latest.current = on;
  useEffect(() => {
    if (key === undefined || args === null) return;
    const gone = new AbortController();
    setState((before) => ({ ...(before.key === key && before), key, isLoading: true }));
    call(operation, { ...args, signal: gone.signal }).then(
      (data) => {
        if (gone.signal.aborted) return;
        remember(key, data);
        setState({ key, data, isLoading: false });
      },
      (error: unknown) => {
        if (gone.signal.aborted) return;
        setState((before) => ({ ...before, key, problem: problemOf(error), isLoading: false }));
      },
    );
    return () => gone.abort();
  }, [key, round]);

  useEffect(() => {
    let timer: number | undefined;
    const stop = onLiveEvent((event) => {
      const wanted = latest.current;
      const fits = typeof wanted === 'function' ? wanted(event) : wanted.includes(event.type);
      if (!fits && event.type !== 'reset') return;
      timer ??= window.setTimeout(() => {
        timer = undefined;
        reload();
      }, GATHER_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [reload]);

  const isCurrent = state.key === key;
  const data = (isCurrent ? state.data : undefined) ?? (key === undefined ? undefined : answers.get(key));
  return {
    data: data as ResponseOf<Name> | undefined,
    problem: isCurrent ? state.problem : undefined,
    isLoading: state.isLoading || !isCurrent,
    reload,
  };
}

function remember(key: string, data: unknown): void {
  answers.delete(key);
  answers.set(key, data);
  const oldest = answers.keys().next().value;
  if (answers.size > MAX_ANSWERS && oldest !== undefined) answers.delete(oldest);
}
