import { useState } from 'preact/hooks';
import { call } from '../../api/call.ts';
import { problemOf } from '../../api/problem.ts';
import { useMay } from '../../app/caller.tsx';
import { hrefOf } from '../../app/location.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Menu } from '../../components/menu.tsx';
import { PageFrame } from '../../components/page.tsx';
import { EmptyState, Loading } from '../../components/states.tsx';
import { chatNameOf } from '../../conversation/conversation.ts';
import { useTimes } from '../../conversation/times.ts';
import { MessageTrace } from '../../conversation/turn-trace.tsx';
import { reasonHref, ServiceText } from '../../translation/service-text.tsx';
import { replayAll } from './replay-all.ts';
import { useText } from './texts.ts';
import { type DeadLetter, useDeadLetters } from './use-dead-letters.ts';
import './dead-letters.css';

const STATES = ['open', 'replayed', 'closed'] as const;

/** The page Dead letters: groups by reason, what was tried, replay of one, a group or all, and close. */
export function DeadLettersPage() {
  const t = useText();
  const maySend = useMay()('messages:send');
  const [state, setState] = useState<DeadLetter['state']>('open');
  const { full } = useTimes();
  const [reason, setReason] = useState<string>();
  const [toReplay, setToReplay] = useState<{ reason?: string; count: number }>();
  const [message, setMessage] = useState('');
  const { groups, letters, next, isLoaded, error, reload, more } = useDeadLetters(state, reason);
  const total = groups.reduce((sum, { count }) => sum + count, 0);

  const act = async (work: () => Promise<string>) => {
    setMessage('');
    try {
      setMessage(await work());
    } catch (cause) {
      setMessage(t('failedAction', { error: problemOf(cause).message }));
    }
    await reload();
  };

  return (
    <PageFrame
      title={t('title')}
      lead={t('intro')}
      actions={
        state === 'open' &&
        total > 0 && (
          <Button kind="main" scope="messages:send" onClick={() => setToReplay({ count: total })}>
            {t('replayAll', { count: total })}
          </Button>
        )
      }
    >
      <div class="letters-toolbar">
        <label>
          {t('state')}{' '}
          <select
            aria-label={t('state')}
            value={state}
            onChange={(event) => {
              setState(event.currentTarget.value as DeadLetter['state']);
              setReason(undefined);
            }}
          >
            {STATES.map((each) => (
              <option key={each} value={each}>
                {t(each)}
              </option>
            ))}
          </select>
        </label>
      </div>
      <p role="status">{error ?? message}</p>
      {toReplay && (
        <ConfirmDialog
          title={t('replay')}
          action={t('replay')}
          confirm={() => act(async () => t('replayedSome', { count: await replayAll(toReplay.reason) }))}
          onClose={() => setToReplay(undefined)}
        >
          <p>{t('confirm', { count: toReplay.count })}</p>
        </ConfirmDialog>
      )}
      {!isLoaded ? (
        <Loading />
      ) : groups.length === 0 ? (
        <EmptyState icon="letter" title={t(state === 'open' ? 'none' : 'noneOfState')} />
      ) : (
        <>
          <h2>{t('groups')}</h2>
          <ul class="groups">
            {groups.map((group) => (
              <li key={group.reason} class={group.reason === reason ? 'group selected' : 'group'}>
                <button
                  type="button"
                  class="group-open"
                  aria-pressed={group.reason === reason}
                  onClick={() => setReason((open) => (open === group.reason ? undefined : group.reason))}
                >
                  <span class="group-count">{group.count}</span>
                  <span class="group-error">
                    <ServiceText text={group.error} phrase={group.phrase} code={group.reason} />
                  </span>
                  <span class="hint">
                    <code>{group.reason}</code> · {t('newest')}:{' '}
                    <time dateTime={group.newestAt}>{full(group.newestAt)}</time>
                  </span>
                </button>
                <span class="group-actions">
                  <a href={reasonHref(group.reason)} target="_blank" rel="noreferrer">
                    {t('meaning')}
                  </a>
                  {state === 'open' && maySend && (
                    <button
                      type="button"
                      class="button"
                      aria-label={t('replayGroup', { count: group.count, reason: group.reason })}
                      onClick={() => setToReplay({ reason: group.reason, count: group.count })}
                    >
                      {t('replay')}
                    </button>
                  )}
                </span>
              </li>
            ))}
          </ul>
          <h2>{reason === undefined ? t('letters') : t('lettersOf', { reason })}</h2>
          <ul class="letters">
            {letters.map((letter) => (
              <LetterCard
                key={letter.id}
                letter={letter}
                isSaid={groups.some(
                  (group) => group.reason === letter.reason && group.error === letter.error,
                )}
                act={act}
              />
            ))}
          </ul>
          {next !== undefined && (
            <button type="button" class="button" onClick={() => void more()}>
              {t('more')}
            </button>
          )}
        </>
      )}
    </PageFrame>
  );
}

/** @param props.isSaid its error is that of its group */
function LetterCard(props: {
  letter: DeadLetter;
  isSaid: boolean;
  act(work: () => Promise<string>): Promise<void>;
}) {
  const { letter, isSaid, act } = props;
  const t = useText();
  const { full } = useTimes();
  const {
    id,
    chatId,
    pushName,
    text,
    reason,
    error,
    phrase,
    attempts,
    outboxId,
    messageId,
    failedAt,
    state,
  } = letter;
  const maySend = useMay()('messages:send');
  const [isOpen, setIsOpen] = useState(false);
  const who = chatNameOf(letter);
  return (
    <li class="letter" data-id={id}>
      <header class="card-head">
        <p>
          <strong>{who}</strong> {pushName !== undefined && pushName !== who && `${pushName} `}
          <span class="badge">{t(outboxId === undefined ? 'message' : 'reply')}</span>{' '}
          <span class="badge bad">{reason}</span>
        </p>
        <div class="actions">
          {state !== 'replayed' && maySend && (
            <button
              type="button"
              class="button"
              aria-label={`${t('replay')}: ${who}`}
              onClick={() =>
                void act(async () => {
                  await call('POST /api/dead-letters/{id}/replay', { path: { id } });
                  return t('replayedOne');
                })
              }
            >
              {t('replay')}
            </button>
          )}
          <Menu
            of={who}
            items={[
              { title: t('chat'), href: hrefOf(`/chats/${chatId}`) },
              state === 'open' && {
                title: t('close'),
                scope: 'messages:send',
                onChoose: () =>
                  void act(async () => {
                    await call('POST /api/dead-letters/{id}/close', { path: { id } });
                    return t('closedOne');
                  }),
              },
            ]}
          />
        </div>
      </header>
      {text !== '' && <blockquote>{text}</blockquote>}
      {!isSaid && (
        <p>
          <ServiceText text={error} phrase={phrase} code={reason} />
        </p>
      )}
      <p class="hint">
        {t('failedAt')}: <time dateTime={failedAt}>{full(failedAt)}</time> · {t('attempts')}: {attempts}
      </p>
      {messageId !== undefined && (
        <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
          <summary>{t('tried')}</summary>
          {isOpen && <MessageTrace messageId={messageId} />}
        </details>
      )}
    </li>
  );
}
