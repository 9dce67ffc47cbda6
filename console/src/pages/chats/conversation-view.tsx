import { useEffect, useMemo, useState } from 'preact/hooks';
import { Allowed } from '../../app/caller.tsx';
import { Button } from '../../components/button.tsx';
import type { Received } from '../../conversation/chat-types.ts';
import { addressOf, type Bubble, bubblesOf } from '../../conversation/conversation.ts';
import { ConversationLog } from '../../conversation/conversation-log.tsx';
import { SidePanel } from '../../conversation/side-panel.tsx';
import { useText as useShared } from '../../conversation/texts.ts';
import { TurnTrace } from '../../conversation/turn-trace.tsx';
import { useConversation } from '../../conversation/use-conversation.ts';
import { ChatDetails } from './chat-details.tsx';
import { nameOf } from './chat-list.tsx';
import { ChatNotices } from './chat-notices.tsx';
import { Composer } from './composer.tsx';
import { DraftActions } from './draft-actions.tsx';
import { FindMessages } from './find-messages.tsx';
import { useText } from './texts.ts';

/** One chat as on a phone, with what an operator can do, and the trace of a turn beside it. */
export function ConversationView({ id, onBack }: { id: string; onBack(): void }) {
  const t = useText();
  const shared = useShared();
  const { chat, messages, drafts, earlier, error, reload, loadEarlier } = useConversation(id);
  const [panel, setPanel] = useState<'details' | 'find' | { turnId: string }>();
  const [wanted, setWanted] = useState<{ id: string }>();
  const bubbles = useMemo(
    () => bubblesOf(messages.values(), chat?.isGroup ?? false),
    [messages, chat?.isGroup],
  );
  const draftBubbles = useMemo(() => lastOfDrafts(bubbles), [bubbles]);
  useEffect(() => {
    setPanel(undefined);
  }, [id]);
  const isWantedLoaded = wanted !== undefined && messages.has(wanted.id);
  useEffect(() => {
    if (wanted && !isWantedLoaded) void loadEarlier();
  }, [wanted, isWantedLoaded, messages]);

  if (!chat) return <p class="chat-status">{error ?? t('loading')}</p>;
  const name = nameOf(chat);
  const turn = typeof panel === 'object' ? messages.get(panel.turnId) : undefined;
  const draftOf = (bubble: Bubble) =>
    draftBubbles.get(bubble.draftOf ?? '') === bubble.id
      ? drafts.find((draft) => draft.id === bubble.draftOf)
      : undefined;
  const toggle = (each: 'details' | 'find') => setPanel((open) => (open === each ? undefined : each));
  const toggleTrace = (turnId: string) =>
    setPanel((open) => (typeof open === 'object' && open.turnId === turnId ? undefined : { turnId }));

  return (
    <>
      <section class="conversation" aria-label={shared('conversation', { name })}>
        <header class="conversation-head">
          <button type="button" class="button back" aria-label={t('back')} onClick={onBack}>
            ‹
          </button>
          <div>
            <h2>{name}</h2>
            <p class="hint">{addressOf(chat)}</p>
          </div>
          <Button
            icon="search"
            label={t('find')}
            isPressed={panel === 'find'}
            onClick={() => toggle('find')}
          />
          <Button isPressed={panel === 'details'} onClick={() => toggle('details')}>
            {t('details')}
          </Button>
        </header>
        <ChatNotices
          chat={chat}
          drafts={drafts.filter((draft) => !draftBubbles.has(draft.id))}
          onChanged={reload}
        />
        <ConversationLog
          key={id}
          name={name}
          bubbles={bubbles}
          {...(turn && { openTurn: turn.id })}
          shown={isWantedLoaded ? wanted : undefined}
          onTrace={toggleTrace}
          endOf={(bubble) => {
            const draft = draftOf(bubble);
            return draft && <DraftActions draft={draft} onChanged={reload} />;
          }}
          {...(earlier !== undefined && { onEarlier: loadEarlier })}
        />
        <Allowed scope="messages:send">
          <Composer key={chat.id} chat={chat} onSent={reload} />
        </Allowed>
      </section>
      {panel !== undefined && (
        <SidePanel
          title={typeof panel === 'object' ? shared('trace') : t(panel)}
          closeLabel={t('close')}
          onClose={() => setPanel(undefined)}
        >
          {panel === 'details' ? (
            <ChatDetails chat={chat} onChanged={reload} />
          ) : panel === 'find' ? (
            <FindMessages
              chat={chat}
              onOpen={(messageId) => {
                setWanted({ id: messageId });
                if (isNarrow()) setPanel(undefined);
              }}
            />
          ) : (
            turn?.direction === 'incoming' && (
              <TurnTrace turn={turn as Received} messages={messages.values()} />
            )
          )}
        </SidePanel>
      )}
    </>
  );
}

/** On a phone a panel lies over the conversation. */
function isNarrow(): boolean {
  return matchMedia('(max-width: 52rem)').matches;
}

/** The last bubble of each draft, which has its actions. */
function lastOfDrafts(bubbles: readonly Bubble[]): Map<string, string> {
  return new Map(bubbles.flatMap(({ id, draftOf }) => (draftOf === undefined ? [] : [[draftOf, id]])));
}
