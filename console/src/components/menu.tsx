import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Scope, useMay } from '../app/caller.tsx';
import { useTexts } from '../app/language.ts';
import { Icon } from './icon.tsx';

/** One action of a menu: something that is done, or an address that is opened. */
export type MenuItem = {
  title: string;
  /** It deletes or ends something. */
  isDanger?: boolean;
  isDisabled?: boolean;
  /** What one must be allowed to do; others do not see it. */
  scope?: Scope;
} & ({ onChoose: () => void } | { href: string; download?: string });

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

/**
 * The actions of a row, a card or a page behind one button; nothing when the person may do none of them.
 * @param of the name of what they are for; absent: the page
 */
export function Menu({ of, items }: { of?: string; items: ReadonlyArray<MenuItem | false> }) {
  const text = useTexts('menu');
  const may = useMay();
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const entries = () => [
    ...(list.current?.querySelectorAll<HTMLElement>('[role=menuitem]:not(:disabled)') ?? []),
  ];
  useLayoutEffect(() => {
    if (!isOpen || !list.current) return;
    // Above the button where there is no place below it.
    list.current.classList.toggle('above', list.current.getBoundingClientRect().bottom > innerHeight);
    entries()[0]?.focus();
  }, [isOpen]);
  const shown = items.filter((each): each is MenuItem => each !== false && may(each.scope));
  if (shown.length === 0) return null;
  const close = () => {
    button.current?.focus();
    setOpen(false);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isOpen) return;
    if (event.key === 'Escape') {
      // Not what is around the menu, such as a side panel.
      event.stopPropagation();
      return close();
    }
    const all = entries();
    const now = all.indexOf(document.activeElement as HTMLElement);
    const step = STEPS[event.key];
    const to =
      { Home: 0, End: -1 }[event.key] ?? (step === undefined ? undefined : (now + step) % all.length);
    if (to === undefined) return;
    event.preventDefault();
    all.at(to)?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys of the menu, wherever the focus is in it
    <div
      class="menu"
      onKeyDown={onKeyDown}
      // The focus stays where it is, so that a click does not close the menu before it chooses.
      onMouseDown={(event) => event.preventDefault()}
      onFocusOut={({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget as Node | null)) setOpen(false);
      }}
    >
      <button
        ref={button}
        type="button"
        class="button quiet only-icon"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-label={of === undefined ? text.more : text.of(of)}
        title={text.more}
        onClick={() => (isOpen ? close() : setOpen(true))}
      >
        <Icon name="more" />
      </button>
      {isOpen && (
        <div ref={list} role="menu" class="menu-list" aria-label={of === undefined ? text.more : text.of(of)}>
          {shown.map((item) => {
            const common = {
              role: 'menuitem',
              tabIndex: -1,
              class: item.isDanger ? 'danger' : undefined,
            } as const;
            return 'href' in item ? (
              <a key={item.title} {...common} href={item.href} download={item.download} onClick={close}>
                {item.title}
              </a>
            ) : (
              <button
                key={item.title}
                {...common}
                type="button"
                disabled={item.isDisabled}
                onClick={() => {
                  close();
                  item.onChoose();
                }}
              >
                {item.title}
              </button>
            );
          })}
        </div>
      )}
    </div>
  );
}
