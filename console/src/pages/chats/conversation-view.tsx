import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Allowed } from '../../app/caller.tsx';
import { BubbleView } from './bubble-view.tsx';
import { ChatDetails } from './chat-details.tsx';
import { nameOf } from './chat-list.tsx';
import { ChatNotices } from './chat-notices.tsx';
import type { Received } from './chat-types.ts';
import { Composer } from './composer.tsx';
import { bubblesOf } from './conversation.ts';
import { useText } from './texts.ts';
import { useTimes } from './times.ts';
import { TurnTrace } from './turn-trace.tsx';
import { useConversation } from './use-conversation.ts';

/** How near its end a conversation follows new messages, in CSS pixels. */
const FOLLOW_PX = 80;

/** One chat as on a phone, with what an operator can do, and the trace of a turn beside it. */
export function ConversationView({ id, onBack }: { id: string; onBack(): void }) {
  const t = useText();
  const { day } = useTimes();
  const { chat, messages, drafts, earlier, isDetached, error, reload, newest, loadEarlier } =
    useConversation(id);
  const [panel, setPanel] = useState<'details' | { turnId: string }>();
  const log = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  const anchor = useRef<{ height: number; top: number } | undefined>(undefined);
  const bubbles = useMemo(
    () => bubblesOf(messages.values(), chat?.isGroup ?? false),
    [messages, chat?.isGroup],
  );
  useEffect(() => {
    setPanel(undefined);
    isFollowing.current = true;
  }, [id]);

  // New messages are followed at the end; earlier ones do not move what is being read.
  useLayoutEffect(() => {
    const element = log.current;
    if (!element) return;
    if (anchor.current) {
      element.scrollTop = anchor.current.top + element.scrollHeight - anchor.current.height;
      anchor.current = undefined;
    } else if (isFollowing.current) element.scrollTop = element.scrollHeight;
  }, [bubbles]);

  const loadBefore = async () => {
    const element = log.current;
    if (element) anchor.current = { height: element.scrollHeight, top: element.scrollTop };
    await loadEarlier();
  };

  if (!chat) return <p class="chat-status">{error ?? t('loading')}</p>;
  const name = nameOf(chat);
  const turn = typeof panel === 'object' ? messages.get(panel.turnId) : undefined;
  const toggleTrace = (turnId: string) =>
    setPanel((open) => (typeof open === 'object' && open.turnId === turnId ? undefined : { turnId }));

  return (
    <>
      <section class="conversation" aria-label={t('conversation', { name })}>
        <header class="conversation-head">
          <button type="button" class="button back" onClick={onBack}>
            <span aria-hidden="true">‹ </span>
            {t('back')}
          </button>
          <div>
            <h2>{name}</h2>
            <p class="hint">{chat.phone === undefined || chat.isGroup ? chat.channelId : `+${chat.phone}`}</p>
          </div>
          <button
            type="button"
            class="button"
            aria-pressed={panel === 'details'}
            onClick={() => setPanel((open) => (open === 'details' ? undefined : 'details'))}
          >
            {t('details')}
          </button>
        </header>
        <ChatNotices chat={chat} drafts={drafts} onChanged={reload} />
        <div
          ref={log}
          class="messages"
          role="log"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled area needs the keyboard
          tabIndex={0}
          aria-label={t('conversation', { name })}
          onScroll={(event) => {
            const { scrollHeight, scrollTop, clientHeight } = event.currentTarget;
            isFollowing.current = scrollHeight - scrollTop - clientHeight < FOLLOW_PX;
          }}
        >
          {earlier !== undefined && (
            <button type="button" class="button earlier" onClick={() => void loadBefore()}>
              {t('earlier')}
            </button>
          )}
          {bubbles.length === 0 && <p class="hint">{t('noMessages')}</p>}
          {bubbles.map((bubble, index) => (
            <div key={bubble.id} class="line">
              {(index === 0 || day(bubble.at) !== day(bubbles[index - 1]?.at ?? '')) && (
                <p class="day">{day(bubble.at)}</p>
              )}
              <BubbleView
                bubble={bubble}
                isOpen={turn !== undefined && turn.id === bubble.turn?.id}
                {...(bubble.turn && { onTrace: () => toggleTrace(bubble.id) })}
              />
            </div>
          ))}
          {isDetached && (
            <button type="button" class="button earlier" onClick={() => void newest()}>
              {t('newest')}
            </button>
          )}
        </div>
        <Allowed scope="messages:send">
          <Composer key={chat.id} chat={chat} onSent={reload} />
        </Allowed>
      </section>
      {panel !== undefined && (
        <aside class="chat-panel" aria-label={t(panel === 'details' ? 'details' : 'trace')}>
          <button type="button" class="button close" onClick={() => setPanel(undefined)}>
            {t('close')}
          </button>
          {panel === 'details' ? (
            <ChatDetails chat={chat} onChanged={reload} />
          ) : (
            turn?.direction === 'incoming' && (
              <TurnTrace chat={chat} turn={turn as Received} messages={messages.values()} />
            )
          )}
        </aside>
      )}
    </>
  );
}
