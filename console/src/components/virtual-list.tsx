import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** Rows beyond the visible ones, in each direction. */
const EXTRA_ROWS = 6;

/**
 * A list of any length with rows of one height, of which only the visible ones are in the page. `onEnd` is called when the
 * last rows become visible, to load more.
 */
export function VirtualList<Row>(props: {
  label: string;
  rows: readonly Row[];
  rowHeightPx: number;
  keyOf: (row: Row) => string;
  render: (row: Row) => ComponentChildren;
  onEnd?: () => void;
}) {
  const { rows, rowHeightPx, onEnd } = props;
  const ref = useRef<HTMLElement>(null);
  const [view, setView] = useState({ topPx: 0, heightPx: 600 });
  useEffect(() => {
    const box = ref.current;
    if (!box) return;
    const update = () => setView({ topPx: box.scrollTop, heightPx: box.clientHeight });
    const observer = new ResizeObserver(update);
    observer.observe(box);
    box.addEventListener('scroll', update, { passive: true });
    return () => {
      observer.disconnect();
      box.removeEventListener('scroll', update);
    };
  }, []);
  const first = Math.max(0, Math.floor(view.topPx / rowHeightPx) - EXTRA_ROWS);
  const last = Math.min(rows.length, Math.ceil((view.topPx + view.heightPx) / rowHeightPx) + EXTRA_ROWS);
  const isAtEnd = last >= rows.length;
  useEffect(() => {
    if (isAtEnd && rows.length > 0) onEnd?.();
  }, [isAtEnd, rows.length]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled area needs the keyboard
    <section class="virtual" ref={ref} tabIndex={0} aria-label={props.label}>
      <ul style={{ height: `${rows.length * rowHeightPx}px` }}>
        {rows.slice(first, last).map((row, index) => (
          <li
            key={props.keyOf(row)}
            aria-setsize={rows.length}
            aria-posinset={first + index + 1}
            style={{ top: `${(first + index) * rowHeightPx}px`, height: `${rowHeightPx}px` }}
          >
            {props.render(row)}
          </li>
        ))}
      </ul>
    </section>
  );
}
