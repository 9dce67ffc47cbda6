import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

/** A part of the form that few routes need: its title and what is set in it; a person opens the rest. */
export function FoldCard(props: {
  title: string;
  /** What is set, while it is closed. */
  summary?: ComponentChildren;
  hasMistake: boolean;
  children: ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      class="card fold"
      open={isOpen || props.hasMistake}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>
        <h2>{props.title}</h2>
        {!isOpen && props.summary}
      </summary>
      <div class="stack">{props.children}</div>
    </details>
  );
}
