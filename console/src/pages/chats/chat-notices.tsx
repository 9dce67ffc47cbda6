import { useState } from 'preact/hooks';
import { call } from '../../api/call.ts';
import { problemOf } from '../../api/problem.ts';
import { Allowed } from '../../app/caller.tsx';
import type { Chat, Draft } from '../../conversation/chat-types.ts';
import { DraftForm } from '../../conversation/draft-form.tsx';
import { useTimes } from '../../conversation/times.ts';
import { ServiceText } from '../../translation/service-text.tsx';
import { useText } from './texts.ts';

/** What waits for an operator in a chat: its pause, a stranger. @param props.drafts those without a bubble */
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
            {pauseText(pause, t, full)}{' '}
            {pause.reason && <ServiceText text={pause.reason} phrase={pause.phrase} />}
          </p>
          <Allowed scope="messages:send">
            <button
              type="button"
              class="button main"
              onClick={() => void act(() => call('POST /api/chats/{id}/resume', { path }))}
            >
              {t('resume')}
            </button>
            {pause.mode !== 'approve' && (
              <button
                type="button"
                class="button"
                onClick={() =>
                  void act(() => call('POST /api/chats/{id}/resume', { path, body: { answerMissed: true } }))
                }
              >
                {t('resumeMissed')}
              </button>
            )}
          </Allowed>
        </div>
      )}
      {drafts.map((draft) => (
        <DraftForm key={draft.id} draft={draft} act={(work) => void act(work)} />
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
