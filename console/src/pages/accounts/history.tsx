import { useEffect, useRef, useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { Badge } from '../../components/page.tsx';
import { Loaded } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { ServiceText } from '../../translation/service-text.tsx';
import { moodOf } from './account-moods.ts';

const PAGE = 10;

/** The states that an account changed to; loaded when a person opens it. */
export function History({ accountId }: { accountId: string }) {
  const text = useTexts('accounts');
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{text.history}</summary>
      {isOpen && <Changes accountId={accountId} />}
    </details>
  );
}

function Changes({ accountId }: { accountId: string }) {
  const text = useTexts('accounts');
  const path = { id: accountId };
  const newest = useQuery('GET /api/accounts/{id}/history', { path, query: { limit: PAGE } }, ['account']);
  const [older, setOlder] = useState<{ changes: Array<Schemas['AccountStateChange']>; next?: string }>();
  const next = older ? older.next : newest.data?.next;
  const more = useAction(async () => {
    const page = await call('GET /api/accounts/{id}/history', { path, query: { limit: PAGE, cursor: next } });
    setOlder({ changes: [...(older?.changes ?? []), ...page.data], ...(page.next && { next: page.next }) });
  });
  const first = newest.data?.data[0]?.id;
  const shownFirst = useRef(first);
  // A new change moves the pages, so that they begin again.
  useEffect(() => {
    if (shownFirst.current !== undefined && shownFirst.current !== first) setOlder(undefined);
    shownFirst.current = first;
  }, [first]);
  return (
    <Loaded query={newest}>
      {({ data }) =>
        data.length === 0 ? (
          <p class="faint">{text.historyNone}</p>
        ) : (
          <>
            <ol class="history">
              {[...data, ...(older?.changes ?? [])].map(({ id, state, reason, phrase, at, node }) => (
                <li key={id}>
                  <Badge mood={moodOf(state)}>{text.states[state]}</Badge>
                  <span class="faint">
                    <Time at={at} />
                    {node && ` · ${node}`}
                  </span>
                  {reason && (
                    <p>
                      <ServiceText text={reason} phrase={phrase} />
                    </p>
                  )}
                </li>
              ))}
            </ol>
            {next !== undefined && (
              <Button isBusy={more.isRunning} onClick={() => void more.run()}>
                {text.more}
              </Button>
            )}
          </>
        )
      }
    </Loaded>
  );
}
