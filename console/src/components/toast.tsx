import { useEffect, useState } from 'preact/hooks';

type Mood = 'good' | 'bad';
interface Toast {
  id: number;
  text: string;
  mood: Mood;
}

const SHOWN_MS = { good: 4_000, bad: 9_000 };

const listeners = new Set<(toast: Toast) => void>();
let lastId = 0;

/** Shows a short message at the edge of the page. Screen readers read it. */
export function toast(text: string, mood: Mood): void {
  lastId += 1;
  for (const listener of [...listeners]) listener({ id: lastId, text, mood });
}

/** Where toasts appear; once in the page. */
export function Toasts() {
  const [toasts, setToasts] = useState<Toast[]>([]);
  useEffect(() => {
    const timers = new Set<number>();
    const add = (toast: Toast) => {
      setToasts((before) => [...before.slice(-3), toast]);
      timers.add(
        window.setTimeout(
          () => setToasts((before) => before.filter(({ id }) => id !== toast.id)),
          SHOWN_MS[toast.mood],
        ),
      );
    };
    listeners.add(add);
    return () => {
      listeners.delete(add);
      for (const timer of timers) clearTimeout(timer);
    };
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.map(({ id, text, mood }) => (
        <p key={id} class={`toast ${mood}`}>
          {text}
        </p>
      ))}
    </div>
  );
}
