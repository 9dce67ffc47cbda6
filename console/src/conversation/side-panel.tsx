import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../components/button.tsx';
import { giveFocusBack } from '../components/focus.ts';

/**
 * A panel that lies over the list of chats, or over all on a phone: the conversation keeps its place. Escape closes it, and the
 * focus returns to the button that opened it.
 */
export function SidePanel(props: {
  title: string;
  closeLabel: string;
  onClose(): void;
  children: ComponentChildren;
}) {
  const { title, closeLabel, onClose, children } = props;
  const panel = useRef<HTMLElement>(null);
  const latest = useRef(onClose);
  latest.current = onClose;
  const [opener] = useState(() => document.activeElement);
  useEffect(() => {
    const isAsked = opener instanceof HTMLButtonElement;
    // A field in it may have taken the focus.
    if (isAsked && !panel.current?.contains(document.activeElement)) panel.current?.focus();
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || document.querySelector('dialog[open]')) return;
      latest.current();
    };
    addEventListener('keydown', onKeyDown);
    return () => {
      removeEventListener('keydown', onKeyDown);
      if (isAsked) giveFocusBack(opener);
    };
  }, []);
  return (
    <aside ref={panel} class="chat-panel" aria-label={title} tabIndex={-1}>
      <header class="chat-panel-head">
        <h2>{title}</h2>
        <Button icon="close" label={closeLabel} onClick={onClose} />
      </header>
      {children}
    </aside>
  );
}
