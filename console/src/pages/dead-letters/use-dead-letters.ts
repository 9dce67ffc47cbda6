import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { problemOf } from '../../api/problem.ts';
import { useChanges } from '../../conversation/use-changes.ts';

export type DeadLetter = Schemas['DeadLetter'];
type DeadLetterGroup = Schemas['DeadLetterGroup'];

const PAGE = 50;

interface Shown {
  groups: DeadLetterGroup[];
  letters: DeadLetter[];
  next?: string;
  isLoaded: boolean;
  error?: string;
}

/**
 * The groups of a state, and the dead letters of a reason, kept as they are now.
 * @param reason absent: all
 */
export function useDeadLetters(state: DeadLetter['state'], reason: string | undefined) {
  const [shown, setShown] = useState<Shown>({ groups: [], letters: [], isLoaded: false });
  const filter = `${state} ${reason ?? ''}`;
  const current = useRef(filter);
  current.current = filter;
  const count = useRef(PAGE);

  const pageOf = (limit: number, cursor?: string) =>
    call('GET /api/dead-letters', { query: { state, reason, limit, cursor } });

  const load = useCallback(async () => {
    try {
      const [groups, letters] = await Promise.all([
        call('GET /api/dead-letters/groups', { query: { state } }),
        pageOf(Math.min(500, count.current)),
      ]);
      if (current.current !== filter) return;
      setShown({ groups: groups.data, letters: letters.data, next: letters.next, isLoaded: true });
    } catch (error) {
      if (current.current === filter) setShown((before) => ({ ...before, error: problemOf(error).message }));
    }
  }, [filter]);

  useEffect(() => {
    count.current = PAGE;
    void load();
  }, [filter]);

  const more = async () => {
    if (shown.next === undefined) return;
    const page = await pageOf(PAGE, shown.next);
    if (current.current !== filter) return;
    setShown((before) => {
      const letters = [...before.letters, ...page.data];
      count.current = letters.length;
      return { ...before, letters, next: page.next };
    });
  };

  useChanges(
    ({ type }) => type === 'dead-letter' || type === 'turn' || type === 'delivery',
    () => load(),
  );

  return { ...shown, reload: load, more };
}
