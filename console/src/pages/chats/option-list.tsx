import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Rows rendered above and below those that can be seen. */
const OVERSCAN = 6;

export interface OptionListProps<T> {
  /** Name of the list for screen readers. */
  label: string;
  items: readonly T[];
  /** Height of every row, in CSS pixels. */
  rowPx: number;
  keyOf(item: T): string;
  row(item: T): ComponentChildren;
  /** The key of the open item. */
  selected?: string;
  onOpen(item: T): void;
  /** The end of the list comes near: load more. */
  onNearEnd(): void;
}

/**
 * A list box of any length with as many rows in the document as fit on the screen, and a few more. Arrow keys, Page Up, Page
 * Down, Home and End move the active row; Enter and Space open it.
 */
export function OptionList<T>(props: OptionListProps<T>) {
  const { label, items, rowPx, keyOf, row, selected, onOpen, onNearEnd } = props;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const [active, setActive] = useState(0);
  const last = Math.max(0, items.length - 1);
  const current = Math.min(active, last);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, []);

  const first = Math.max(0, Math.floor(view.top / rowPx) - OVERSCAN);
  const end = Math.min(items.length, Math.ceil((view.top + view.height) / rowPx) + OVERSCAN);
  useEffect(() => {
    if (end > items.length - OVERSCAN * 2) onNearEnd();
  }, [end, items.length]);

  const move = (to: number) => {
    const index = Math.max(0, Math.min(last, to));
    setActive(index);
    const element = box.current;
    if (!element) return;
    const top = index * rowPx;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowPx > element.scrollTop + element.clientHeight)
      element.scrollTop = top + rowPx - element.clientHeight;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(view.height / rowPx) - 1);
    const steps: Record<string, number> = {
      ArrowDown: current + 1,
      ArrowUp: current - 1,
      PageDown: current + page,
      PageUp: current - page,
      Home: 0,
      End: last,
    };
    const item = items[current];
    if (event.key in steps) move(steps[event.key] ?? 0);
    else if ((event.key === 'Enter' || event.key === ' ') && item !== undefined) onOpen(item);
    else return;
    event.preventDefault();
  };
  const idOf = (item: T) => `row-${keyOf(item)}`;
  const activeItem = items[current];
  const isActiveShown = activeItem !== undefined && current >= first && current < end;

  return (
    <div
      ref={box}
      class="virtual-list"
      role="listbox"
      tabIndex={0}
      aria-label={label}
      aria-activedescendant={isActiveShown ? idOf(activeItem) : undefined}
      onKeyDown={onKeyDown}
    >
      <div role="presentation" class="virtual-space" style={{ height: `${items.length * rowPx}px` }}>
        {items.slice(first, end).map((item, offset) => {
          const index = first + offset;
          return (
            // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus and names its active option
            // biome-ignore lint/a11y/useKeyWithClickEvents: the list has the keys
            <div
              key={keyOf(item)}
              id={idOf(item)}
              class={index === current ? 'virtual-row active' : 'virtual-row'}
              role="option"
              aria-selected={keyOf(item) === selected}
              aria-setsize={items.length}
              aria-posinset={index + 1}
              style={{ top: `${index * rowPx}px`, height: `${rowPx}px` }}
              onClick={() => {
                setActive(index);
                onOpen(item);
              }}
            >
              {row(item)}
            </div>
          );
        })}
      </div>
    </div>
  );
}
