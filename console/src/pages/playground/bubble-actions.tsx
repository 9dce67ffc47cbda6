import { useRef } from 'preact/hooks';
import { useAction } from '../../api/use-action.ts';
import type { Bubble } from '../../conversation/conversation.ts';
import { authorOf, type PlayChat } from './people.ts';
import type { About } from './play-composer.tsx';
import { useText } from './texts.ts';
import { write } from './write.ts';

const EMOJIS = ['👍', '❤️', '😂', '😮', '🙏'];

/** What an invented person can do with a message: reply, react; edit and delete their own. */
export function BubbleActions(props: {
  chat: PlayChat;
  as: string;
  bubble: Bubble;
  onAbout(about: About): void;
}) {
  const { chat, as, bubble, onAbout } = props;
  const t = useText();
  const menu = useRef<HTMLDetailsElement>(null);
  const { id, text, turn, isDeleted, kind } = bubble;
  const react = useAction(async (emoji: string) => {
    if (menu.current) menu.current.open = false;
    await write(chat.id, { as, reaction: { to: id, emoji } });
  });
  const remove = useAction(async (author: string) => write(chat.id, { as: author, delete: id }));
  if (kind === 'notice' || isDeleted) return null;
  const author = turn && authorOf(chat, turn.from);
  return (
    <>
      <button
        type="button"
        class="link"
        onClick={() => onAbout({ kind: 'quote', id, text, ...(author !== undefined && { as: author }) })}
      >
        {t('reply')}
      </button>
      <details class="play-react" ref={menu}>
        <summary>{t('react')}</summary>
        <span class="play-emojis">
          {EMOJIS.map((emoji) => (
            <button
              key={emoji}
              type="button"
              class="link"
              aria-label={t('reactWith', { emoji })}
              onClick={() => void react.run(emoji)}
            >
              {emoji}
            </button>
          ))}
        </span>
      </details>
      {author !== undefined && (
        <>
          {bubble.content === 'text' && (
            <button
              type="button"
              class="link"
              onClick={() => onAbout({ kind: 'edit', id, text, as: author })}
            >
              {t('edit')}
            </button>
          )}
          <button type="button" class="link" onClick={() => void remove.run(author)}>
            {t('deleteMessage')}
          </button>
        </>
      )}
    </>
  );
}
