import { useEffect, useRef, useState } from 'preact/hooks';

/** Distance from the edge of the window within which a drag scrolls, and by how much, in pixels. */
const EDGE_PX = 56;
const SCROLL_PX = 14;

/** A row that is dragged, and the row whose place it would take. */
export interface Drag {
  id: string;
  over: string;
  /** On which side of `over` it would be put. */
  side: 'before' | 'after';
}

/**
 * Moves the rows of a table by mouse, pen or touch.
 * @param ids of the rows, in their order
 * @param drop is called with the row and the one whose place it takes
 */
export function useDragOrder(ids: readonly string[], drop: (id: string, over: string) => void) {
  const [drag, setDrag] = useState<Drag>();
  const latest = useRef({ ids, drop });
  latest.current = { ids, drop };
  const stop = useRef<(() => void) | undefined>(undefined);
  useEffect(() => () => stop.current?.(), []);

  const start = (id: string, event: PointerEvent) => {
    const body = (event.currentTarget as HTMLElement).closest('tbody');
    if (!body || event.button !== 0) return;
    event.preventDefault();
    let now: Drag | undefined;
    const move = ({ clientY, pointerId }: PointerEvent) => {
      if (pointerId !== event.pointerId) return;
      if (clientY < EDGE_PX) scrollBy(0, -SCROLL_PX);
      if (clientY > innerHeight - EDGE_PX) scrollBy(0, SCROLL_PX);
      const rows = [...body.rows];
      const found = rows.findIndex((row) => clientY < row.getBoundingClientRect().bottom);
      const index = found < 0 ? rows.length - 1 : found;
      const over = latest.current.ids[index];
      if (over === undefined) return;
      now = { id, over, side: index < latest.current.ids.indexOf(id) ? 'before' : 'after' };
      setDrag(now);
    };
    const end = (isDropped: boolean) => {
      stop.current?.();
      stop.current = undefined;
      setDrag(undefined);
      if (isDropped && now && now.over !== id) latest.current.drop(id, now.over);
    };
    const up = ({ pointerId }: PointerEvent) => pointerId === event.pointerId && end(true);
    const cancel = ({ pointerId }: PointerEvent) => pointerId === event.pointerId && end(false);
    const key = ({ key }: KeyboardEvent) => key === 'Escape' && end(false);
    addEventListener('pointermove', move);
    addEventListener('pointerup', up);
    addEventListener('pointercancel', cancel);
    addEventListener('keydown', key);
    stop.current = () => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', up);
      removeEventListener('pointercancel', cancel);
      removeEventListener('keydown', key);
    };
    setDrag({ id, over: id, side: 'after' });
  };
  return { drag, start };
}
