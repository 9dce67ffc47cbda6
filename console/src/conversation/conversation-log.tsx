import {
  defaultRangeExtractor,
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type Range,
  Virtualizer,
} from '@tanstack/virtual-core';
import type { ComponentChildren } from 'preact';
import { useCallback, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks';
import { BubbleView, PictureDialog, PictureSizes } from './bubble-view.tsx';
import type { Bubble } from './conversation.ts';
import { kindKey, useText } from './texts.ts';
import { useTimes } from './times.ts';

/** How near its end a conversation follows new messages, in CSS pixels. */
const FOLLOW_PX = 80;
/** How near its beginning a conversation loads earlier messages, in heights of what can be seen. */
const NEAR_BEGINNING = 2;
/** Bubbles in the document above and below those that can be seen. */
const OVERSCAN = 8;
/** The space above the first bubble: for its day, and for the button that loads earlier ones. */
const DAY_PX = 48;
const EARLIER_PX = 48;
/** The usual height of a bubble with one line, of each further line, and of a picture. */
const BUBBLE_PX = 64;
const LINE_PX = 22;
const PICTURE_PX = 240;
const CHARS_OF_A_LINE = 60;

export interface ConversationLogProps {
  /** The name of the chat. */
  name: string;
  bubbles: readonly Bubble[];
  /** The message whose trace is open. */
  openTurn?: string;
  /** A message to bring into view, among `bubbles`; again when it is another object. */
  shown?: { id: string } | undefined;
  onTrace(turnId: string): void;
  /** Loads the page before; absent: there is none. */
  onEarlier?(): Promise<void>;
  /** What a person can do with a bubble. */
  actionsOf?(bubble: Bubble): ComponentChildren;
  /** What stands at the end of a bubble. */
  endOf?(bubble: Bubble): ComponentChildren;
  /** Behind the last bubble. */
  children?: ComponentChildren;
}

/**
 * The bubbles of a conversation of any length, by days: those that can be seen are in the document, with a few more and that with the
 * focus. It follows new messages at its end; earlier ones, which it loads near its beginning, do not move what is being read.
 */
export function ConversationLog(props: ConversationLogProps) {
  const { name, bubbles, openTurn, shown, onTrace, onEarlier, actionsOf, endOf, children } = props;
  const t = useText();
  const { day } = useTimes();
  const log = useRef<HTMLDivElement>(null);
  const [picture, setPicture] = useState<Bubble>();
  const [focused, setFocused] = useState<string>();
  const sizes = useRef(new Map<string, { width: number; height: number }>());
  const keyOf = useCallback((index: number) => bubbles[index]?.id ?? index, [bubbles]);
  const focusedIndex = focused === undefined ? -1 : bubbles.findIndex(({ id }) => id === focused);
  const virtualizer = useVirtualizer({
    count: bubbles.length,
    getScrollElement: () => log.current,
    getItemKey: keyOf,
    estimateSize: (index) => estimateOf(bubbles[index]),
    overscan: OVERSCAN,
    paddingStart: DAY_PX + (onEarlier ? EARLIER_PX : 0),
    anchorTo: 'end',
    followOnAppend: true,
    scrollEndThreshold: FOLLOW_PX,
    rangeExtractor: (range) => withFocused(range, focusedIndex),
  });
  // Also while one scrolls back: a picture that is loaded above must not move what is read.
  virtualizer.shouldAdjustScrollPositionOnItemSizeChange = ({ start }, _, { scrollOffset }) =>
    start < (scrollOffset ?? 0);
  const last = useRef<string | undefined>(undefined);
  useLayoutEffect(() => {
    // At first, and when more came than is loaded at once: nothing of what was shown is there any more.
    if (!bubbles.some(({ id }) => id === last.current)) virtualizer.scrollToEnd();
    last.current = bubbles.at(-1)?.id;
  }, [bubbles]);
  useLayoutEffect(() => {
    const index = shown ? bubbles.findIndex(({ id }) => id === shown.id) : -1;
    if (index >= 0) virtualizer.scrollToIndex(index, { align: 'center' });
  }, [shown]);
  const hasChildren = Boolean(children);
  useLayoutEffect(() => {
    if (virtualizer.isAtEnd()) virtualizer.scrollToEnd();
  }, [hasChildren]);

  return (
    <PictureSizes.Provider value={sizes.current}>
      <div
        ref={log}
        class="messages"
        role="log"
        // What comes into the document while one scrolls is not news.
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled area needs the keyboard
        tabIndex={0}
        aria-label={t('conversation', { name })}
        onScroll={(event) => {
          const { scrollTop, clientHeight } = event.currentTarget;
          if (scrollTop < clientHeight * NEAR_BEGINNING) void onEarlier?.();
        }}
        onFocusIn={({ target }) => setFocused((target as Element).closest<HTMLElement>('.line')?.dataset.key)}
        onFocusOut={() => setFocused(undefined)}
      >
        {bubbles.length === 0 && <p class="hint">{t('noMessages')}</p>}
        <div class="virtual-space" style={{ height: `${virtualizer.getTotalSize()}px` }}>
          <div class="line">
            {onEarlier && (
              <button type="button" class="button earlier" onClick={() => void onEarlier()}>
                {t('earlier')}
              </button>
            )}
            {bubbles[0] && <p class="day">{day(bubbles[0].at)}</p>}
          </div>
          {virtualizer.getVirtualItems().map(({ index, start }) => {
            const bubble = bubbles[index];
            if (!bubble) return null;
            const next = bubbles[index + 1];
            return (
              <article
                key={bubble.id}
                ref={virtualizer.measureElement}
                class={bubble.id === shown?.id ? 'line shown' : 'line'}
                data-index={index}
                data-key={bubble.id}
                aria-posinset={index + 1}
                aria-setsize={onEarlier ? -1 : bubbles.length}
                style={{ top: `${start}px` }}
              >
                <BubbleView
                  bubble={bubble}
                  isOpen={openTurn !== undefined && openTurn === bubble.turn?.id}
                  onPicture={() => setPicture(bubble)}
                  actions={actionsOf?.(bubble)}
                  end={endOf?.(bubble)}
                  {...(bubble.turn && { onTrace: () => onTrace(bubble.id) })}
                />
                {/* Here the height of a line does not change when earlier ones come before it. */}
                {next && day(next.at) !== day(bubble.at) && <p class="day">{day(next.at)}</p>}
              </article>
            );
          })}
        </div>
        {children}
      </div>
      <News bubble={bubbles.at(-1)} />
      {picture && <PictureDialog bubble={picture} onClose={() => setPicture(undefined)} />}
    </PictureSizes.Provider>
  );
}

/** Tells screen readers the message that came last, after the conversation was opened. */
function News({ bubble }: { bubble: Bubble | undefined }) {
  const t = useText();
  const first = useRef(bubble?.id);
  if (!bubble || bubble.id === first.current) return <p class="hidden" role="status" />;
  const { name, text, content } = bubble;
  return (
    <p class="hidden" role="status">
      {[name, text || t(kindKey(content))].filter(Boolean).join(': ')}
    </p>
  );
}

/** The bubbles around those that can be seen, and that with the focus, which would be lost with it. */
function withFocused(range: Range, focused: number): number[] {
  const shown = defaultRangeExtractor(range);
  if (focused < 0 || shown.includes(focused)) return shown;
  return [...shown, focused].sort((a, b) => a - b);
}

/** The height that a bubble may have until it is measured. */
function estimateOf(bubble: Bubble | undefined): number {
  const { text = '', file } = bubble ?? {};
  const lines = text.split('\n').reduce((sum, line) => sum + Math.ceil(line.length / CHARS_OF_A_LINE), 0);
  return BUBBLE_PX + Math.max(0, lines - 1) * LINE_PX + (file ? PICTURE_PX : 0);
}

type Options = ConstructorParameters<typeof Virtualizer<HTMLElement, HTMLElement>>[0];

/** A virtualizer that renders its component when what can be seen has changed. */
function useVirtualizer(
  given: Omit<Options, 'scrollToFn' | 'observeElementRect' | 'observeElementOffset' | 'onChange'>,
): Virtualizer<HTMLElement, HTMLElement> {
  const [, render] = useReducer((renders: number) => renders + 1, 0);
  const options: Options = {
    ...{ scrollToFn: elementScroll, observeElementRect, observeElementOffset },
    ...given,
    onChange: () => render(undefined),
  };
  const [virtualizer] = useState(() => new Virtualizer(options));
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  return virtualizer;
}
