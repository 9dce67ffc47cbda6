import { useCallback, useState } from 'preact/hooks';
import { toast } from '../components/toast.tsx';
import { type Problem, problemOf } from './problem.ts';

/** A change that a person asked for. */
export interface Action<Input extends unknown[]> {
  /** Resolves with whether it worked; a failure is shown. */
  run(...input: Input): Promise<boolean>;
  isRunning: boolean;
  problem: Problem | undefined;
}

/**
 * @param done shown after success
 * @param sentenceOf what is shown of a failure; default: its message
 */
export function useAction<Input extends unknown[]>(
  work: (...input: Input) => Promise<unknown>,
  done?: string,
  sentenceOf: (problem: Problem) => string = ({ message }) => message,
): Action<Input> {
  const [isRunning, setRunning] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const run = useCallback(
    async (...input: Input) => {
      setRunning(true);
      setProblem(undefined);
      try {
        await work(...input);
        if (done !== undefined) toast(done, 'good');
        return true;
      } catch (error) {
        const found = problemOf(error);
        setProblem(found);
        toast(sentenceOf(found), 'bad');
        return false;
      } finally {
        setRunning(false);
      }
    },
    [work, done, sentenceOf],
  );
  return { run, isRunning, problem };
}
