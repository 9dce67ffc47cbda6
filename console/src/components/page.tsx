import type { ComponentChildren } from 'preact';

/** The frame of a page: its heading, its actions, its content. */
export function PageFrame(props: {
  title: string;
  lead?: string;
  /** The page that lists what this one shows. */
  back?: { href: string; title: string };
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <>
      <header class="page-head">
        <div>
          {props.back && (
            <a class="page-back" href={props.back.href}>
              {props.back.title}
            </a>
          )}
          <h1 tabIndex={-1}>{props.title}</h1>
          {props.lead && <p class="lead">{props.lead}</p>}
        </div>
        {props.actions && <div class="actions">{props.actions}</div>}
      </header>
      {props.children}
    </>
  );
}

/** A part of a page with its own heading. */
export function Card(props: {
  title?: string;
  id?: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section class="card" id={props.id}>
      {(props.title || props.actions) && (
        <header class="card-head">
          {props.title && <h2>{props.title}</h2>}
          {props.actions && <div class="actions">{props.actions}</div>}
        </header>
      )}
      {props.children}
    </section>
  );
}

export type Mood = 'good' | 'busy' | 'bad' | 'quiet';

/** A state as a word with a colour. */
export function Badge({ mood, children }: { mood: Mood; children: ComponentChildren }) {
  return <span class={`badge ${mood}`}>{children}</span>;
}
