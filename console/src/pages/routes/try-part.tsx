import type { ComponentChildren } from 'preact';

/** One way to try a route before it is saved: what it does, its button, and what came of it. */
export function TryPart(props: {
  title: string;
  hint: string;
  action?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section class="try">
      <header>
        <div>
          <h3>{props.title}</h3>
          <p class="faint">{props.hint}</p>
        </div>
        {props.action}
      </header>
      {props.children}
    </section>
  );
}
