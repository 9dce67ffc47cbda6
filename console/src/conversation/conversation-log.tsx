import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { BubbleView, PictureDialog } from './bubble-view.tsx';
import type { Bubble } from './conversation.ts';
import { useText } from './texts.ts';
import { useTimes } from './times.ts';

/** How near its end a conversation follows new messages, in CSS pixels. */
const FOLLOW_PX = 80;

export interface ConversationLogProps {
  /** The name of the chat. */
  name: string;
  bubbles: readonly Bubble[];
  /** The message whose trace is open. */
  openTurn?: string;
  onTrace(turnId: string): void;
  /** Loads the page before; absent: there is none. */
  onEarlier?(): Promise<void>;
  /** Loads the newest messages; absent: they are loaded. */
  onNewest?(): void;
  /** What a person can do with a bubble. */
  actionsOf?(bubble: Bubble): ComponentChildren;
  /** What stands at the end of a bubble. */
  endOf?(bubble: Bubble): ComponentChildren;
  /** Behind the last bubble. */
  children?: ComponentChildren;
}

/** The bubbles of a conversation, by days. It follows new messages at its end; earlier ones do not move what is being read. */
export function ConversationLog(props: ConversationLogProps) {
  const { name, bubbles, openTurn, onTrace, onEarlier, onNewest, actionsOf, endOf, children } = props;
  const t = useText();
  const { day } = useTimes();
  const log = useRef<HTMLDivElement>(null);
  const [picture, setPicture] = useState<Bubble>();
  const isFollowing = useRef(true);
  const anchor = useRef<{ height: number; top: number } | undefined>(undefined);

  useLayoutEffect(() => {
    const element = log.current;
    if (!element) return;
    if (anchor.current) {
      element.scrollTop = anchor.current.top + element.scrollHeight - anchor.current.height;
      anchor.current = undefined;
    } else if (isFollowing.current) element.scrollTop = element.scrollHeight;
  }, [bubbles, children]);

  useLayoutEffect(() => {
    const element = log.current;
    const follow = () => {
      if (element && isFollowing.current) element.scrollTop = element.scrollHeight;
    };
    // A picture is as high as it is once it is loaded; that event does not bubble.
    element?.addEventListener('load', follow, true);
    return () => element?.removeEventListener('load', follow, true);
  }, []);

  const loadBefore = async () => {
    const element = log.current;
    if (element) anchor.current = { height: element.scrollHeight, top: element.scrollTop };
    await onEarlier?.();
  };

  return (
    <>
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
        {onEarlier && (
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
              isOpen={openTurn !== undefined && openTurn === bubble.turn?.id}
              onPicture={() => setPicture(bubble)}
              actions={actionsOf?.(bubble)}
              end={endOf?.(bubble)}
              {...(bubble.turn && { onTrace: () => onTrace(bubble.id) })}
            />
          </div>
        ))}
        {children}
        {onNewest && (
          <button type="button" class="button earlier" onClick={onNewest}>
            {t('newest')}
          </button>
        )}
      </div>
      {picture && <PictureDialog bubble={picture} onClose={() => setPicture(undefined)} />}
    </>
  );
}
