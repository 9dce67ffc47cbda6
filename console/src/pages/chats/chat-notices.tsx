import { useState } from 'preact/hooks';
import { call } from '../../api/call.ts';
import { problemOf } from '../../api/problem.ts';
import { Allowed } from '../../app/caller.tsx';
import { useUnsaved } from '../../app/location.ts';
import type { Chat, Draft } from '../../conversation/chat-types.ts';
import { useTimes } from '../../conversation/times.ts';
import { useText } from './texts.ts';

/** What waits for an operator in a chat: its pause, a stranger, drafts. */
export function ChatNotices({
  chat,
  drafts,
  onChanged,
}: {
  chat: Chat;
  drafts: readonly Draft[];
  onChanged(): void;
}) {
  const t = useText();
  const [error, setError] = useState<string>();
  const { full } = useTimes();
  const path = { id: chat.id };
  const act = async (work: () => Promise<unknown>) => {
    setError(undefined);
    try {
      await work();
    } catch (cause) {
      setError(problemOf(cause).message);
    }
    onChanged();
  };
  const { pause, access } = chat;
  return (
    <div class="chat-notices">
      {error && (
        <p class="error" role="alert">
          {t('failedAction', { error })}
        </p>
      )}
      {access === 'pending' && (
        <div class="notice busy">
          <p>{t('access')}</p>
          <Allowed scope="messages:send">
            <button
              type="button"
              class="button main"
              onClick={() => void act(() => call('POST /api/chats/{id}/approve', { path }))}
            >
              {t('approve')}
            </button>
            <button
              type="button"
              class="button"
              onClick={() => void act(() => call('POST /api/chats/{id}/refuse', { path }))}
            >
              {t('refuse')}
            </button>
          </Allowed>
        </div>
      )}
      {access === 'refused' && <div class="notice busy">{t('refused')}</div>}
      {pause && (
        <div class="notice">
          <p>
            {pauseText(pause, t, full)} {pause.reason}
          </p>
          <Allowed scope="messages:send">
            <button
              type="button"
              class="button main"
              onClick={() => void act(() => call('POST /api/chats/{id}/resume', { path }))}
            >
              {t('resume')}
            </button>
            <button
              type="button"
              class="button"
              onClick={() =>
                void act(() => call('POST /api/chats/{id}/resume', { path, body: { answerMissed: true } }))
              }
            >
              {t('resumeMissed')}
            </button>
          </Allowed>
        </div>
      )}
      {drafts.map((draft) => (
        <DraftCard key={draft.id} draft={draft} act={act} />
      ))}
    </div>
  );
}

function pauseText(
  { mode, until }: NonNullable<Chat['pause']>,
  t: ReturnType<typeof useText>,
  full: (at: string) => string,
): string {
  if (mode === 'approve') return t('approving');
  if (mode === 'auto-reply-loop') return t('loop');
  return until === undefined ? t('pausedNow') : t('pausedUntil', { time: full(until) });
}

function DraftCard({ draft, act }: { draft: Draft; act(work: () => Promise<unknown>): Promise<void> }) {
  const t = useText();
  const given = draft.replies
    .map(({ text }) => text)
    .filter(Boolean)
    .join('\n\n');
  const [text, setText] = useState(given);
  useUnsaved(() => text !== given);
  const path = { id: draft.id };
  return (
    <form
      class="notice draft"
      aria-label={t('draftFor', { text: draft.question.slice(0, 60) })}
      onSubmit={(event) => {
        event.preventDefault();
        void act(() => call('POST /api/drafts/{id}/approve', { path, body: text === given ? {} : { text } }));
      }}
    >
      <p>{t('draftFor', { text: draft.question.slice(0, 120) })}</p>
      <textarea
        rows={3}
        aria-label={t('draftText')}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <Allowed scope="messages:send">
        <button type="submit" class="button main">
          {t('sendDraft')}
        </button>
        <button
          type="button"
          class="button"
          onClick={() => void act(() => call('POST /api/drafts/{id}/drop', { path }))}
        >
          {t('dropDraft')}
        </button>
      </Allowed>
    </form>
  );
}
