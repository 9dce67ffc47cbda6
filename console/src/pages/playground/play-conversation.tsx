import { useMemo, useState } from 'preact/hooks';
import { call } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Menu } from '../../components/menu.tsx';
import type { Received } from '../../conversation/chat-types.ts';
import { type Bubble, bubblesOf } from '../../conversation/conversation.ts';
import { ConversationLog } from '../../conversation/conversation-log.tsx';
import { SidePanel } from '../../conversation/side-panel.tsx';
import { TurnTrace } from '../../conversation/turn-trace.tsx';
import { useConversation } from '../../conversation/use-conversation.ts';
import { BubbleActions } from './bubble-actions.tsx';
import { authorOf, type PlayChat } from './people.ts';
import { fileUrlOf, resetChat } from './play-chat.ts';
import { type About, PlayComposer } from './play-composer.tsx';
import { SaveScenario } from './save-scenario.tsx';
import { useText } from './texts.ts';
import { usePhone } from './use-phone.ts';

/** On a wide screen the trace of the last message is beside the conversation. */
const isWide = () => matchMedia('(min-width: 75rem)').matches;

/** A chat as on the phone of an invented person, with the trace of each message beside it. */
export function PlayConversation(props: {
  chat: PlayChat;
  onBack(): void;
  onReplaced(chat: PlayChat): void;
  onDeleted(): void;
}) {
  const { chat, onBack, onReplaced, onDeleted } = props;
  const { id, name } = chat;
  const t = useText();
  const { messages, earlier, reload, loadEarlier } = useConversation(id);
  const phone = usePhone(id);
  const [as, setAs] = useState(chat.people[0]?.name ?? '');
  const [about, setAbout] = useState<About>();
  const [chosen, setChosen] = useState<string | 'last' | 'none'>(isWide() ? 'last' : 'none');
  const [dialog, setDialog] = useState<'reset' | 'delete' | 'scenario'>();
  const bubbles = useMemo(
    () =>
      bubblesOf(messages.values(), chat.kind === 'group').map((bubble) =>
        onPhone(bubble, chat, as, phone.read),
      ),
    [messages, chat, as, phone.read],
  );
  const reset = useAction(async () => onReplaced(await resetChat(chat)));
  const remove = useAction(async () => {
    await call('DELETE /api/playground/chats/{id}', { path: { id } });
    onDeleted();
  });

  const turnId = chosen === 'last' ? bubbles.findLast(({ turn }) => turn)?.turn?.id : chosen;
  const turn = turnId === undefined ? undefined : messages.get(turnId);
  const isPanelOpen = chosen !== 'none';
  return (
    <>
      <section class="conversation" aria-label={name}>
        <header class="conversation-head">
          <button type="button" class="button back" aria-label={t('back')} onClick={onBack}>
            ‹
          </button>
          <div>
            <h2>{name}</h2>
            <p class="hint">
              {chat.kind === 'group' ? chat.people.map((each) => each.name).join(', ') : `+${chat.channelId}`}
            </p>
          </div>
          <Menu
            of={name}
            items={[
              { title: t('saveScenario'), onChoose: () => setDialog('scenario') },
              { title: t('reset'), onChoose: () => setDialog('reset') },
              { title: t('remove'), isDanger: true, onChoose: () => setDialog('delete') },
            ]}
          />
        </header>
        <ConversationLog
          name={name}
          bubbles={bubbles}
          {...(isPanelOpen && turn && { openTurn: turn.id })}
          onTrace={(wanted) =>
            setChosen((before) => (before !== 'none' && wanted === turnId ? 'none' : wanted))
          }
          actionsOf={(bubble) => <BubbleActions chat={chat} as={as} bubble={bubble} onAbout={setAbout} />}
          {...(earlier !== undefined && { onEarlier: loadEarlier })}
        >
          {phone.isTyping && (
            <p class="bubble person play-typing" role="status">
              {t('typing')}
            </p>
          )}
        </ConversationLog>
        <PlayComposer
          chat={chat}
          as={as}
          onAs={setAs}
          about={about}
          onDone={() => {
            setAbout(undefined);
            setChosen((before) => (before === 'none' ? before : 'last'));
            void reload();
          }}
        />
      </section>
      {isPanelOpen && (
        <SidePanel title={t('trace')} closeLabel={t('close')} onClose={() => setChosen('none')}>
          {turn?.direction === 'incoming' ? (
            <TurnTrace turn={turn as Received} messages={messages.values()} />
          ) : (
            <p class="hint">{t('noTrace')}</p>
          )}
        </SidePanel>
      )}
      {dialog === 'scenario' && (
        <SaveScenario chat={chat} messages={[...messages.values()]} onClose={() => setDialog(undefined)} />
      )}
      {(dialog === 'reset' || dialog === 'delete') && (
        <ConfirmDialog
          title={t(dialog === 'reset' ? 'reset' : 'remove')}
          action={t(dialog === 'reset' ? 'reset' : 'remove')}
          confirm={() => (dialog === 'reset' ? reset : remove).run()}
          onClose={() => setDialog(undefined)}
        >
          <p>{t(dialog === 'reset' ? 'resetHint' : 'removeHint', { name })}</p>
        </ConfirmDialog>
      )}
    </>
  );
}

/** A bubble as the phone of `as` shows it: own messages on the right, with ticks; the playground keeps all files. */
function onPhone(bubble: Bubble, chat: PlayChat, as: string, read: ReadonlySet<string>): Bubble {
  const shown = bubble.file
    ? { ...bubble, hasFile: true, fileUrl: fileUrlOf(chat, bubble.waMessageId) }
    : bubble;
  if (shown.side === 'account') return { ...shown, side: 'person' };
  const isOwn = shown.turn === undefined || authorOf(chat, shown.turn.from) === as;
  if (!isOwn) return shown;
  return { ...shown, side: 'account', tick: read.has(shown.waMessageId) ? 'read' : 'delivered' };
}
