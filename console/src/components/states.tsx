import type { ComponentChildren } from 'preact';
import type { Problem } from '../api/problem.ts';
import type { Query } from '../api/use-query.ts';
import { useTexts } from '../app/language.ts';
import { Icon, type IconName } from './icon.tsx';

/** What a list shows when it is empty: why, and what to do next. */
export function EmptyState(props: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={props.icon} />
      <h2>{props.title}</h2>
      {props.children}
    </div>
  );
}

/** A failed request: its sentence, and a button that repeats it. */
export function ErrorState({ problem, retry }: { problem: Problem; retry?: () => void }) {
  const text = useTexts('states');
  return (
    <div class="notice bad" role="alert">
      <strong>{text.failed}</strong>
      <p>{problem.message}</p>
      {problem.details.map(({ field, message }) => (
        <p key={field}>
          <code>{field}</code> {message}
        </p>
      ))}
      {retry && (
        <button type="button" class="button" onClick={retry}>
          {text.again}
        </button>
      )}
    </div>
  );
}

/** Grey lines while something loads. */
export function Loading({ lines = 3 }: { lines?: number }) {
  const text = useTexts('states');
  return (
    <div class="loading" role="status">
      <span class="hidden">{text.loading}</span>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} class="skeleton" />
      ))}
    </div>
  );
}

/** The answer of a query, or its state while there is none. An answer stays visible when a later request fails. */
export function Loaded<Data>(props: { query: Query<Data>; children: (data: Data) => ComponentChildren }) {
  const { data, problem, reload } = props.query;
  if (data === undefined) return problem ? <ErrorState problem={problem} retry={reload} /> : <Loading />;
  return (
    <>
      {problem && <ErrorState problem={problem} retry={reload} />}
      {props.children(data)}
    </>
  );
}
