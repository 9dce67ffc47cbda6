import { useEffect, useRef, useState } from 'preact/hooks';
import { baseUrl } from '../api/base-url.ts';
import { useQuery } from '../api/use-query.ts';
import { Button } from '../components/button.tsx';
import { PAGES } from '../pages.ts';
import { useMay } from './caller.tsx';
import { useTexts } from './language.ts';
import { hrefOf } from './location.ts';

/** The service is asked this long after the last key. */
const PAUSE_MS = 200;
/** Results of a kind. */
const MAX_SHOWN = 6;

/** Preact's types do not allow this role together with this type. */
const COMBOBOX = { type: 'search', role: 'combobox' } as object;

type Kind = 'pages' | 'chats' | 'routes' | 'settings' | 'docs';

interface Result {
  kind: Kind;
  title: string;
  about?: string | undefined;
  href: string;
}

/** A button that opens the search, as do Ctrl-K and, outside of fields, `/`. */
export function SearchButton() {
  const text = useTexts('search');
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey } = event;
      const isShortcut = key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey;
      const isSlash = key === '/' && !ctrlKey && !metaKey && !altKey && !isField(event.target);
      // A dialog that is open asks something first.
      if ((!isShortcut && !isSlash) || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <>
      <button
        type="button"
        class="button quiet search-button"
        aria-keyshortcuts="Control+K /"
        onClick={() => setOpen(true)}
      >
        {text.title} <kbd>Ctrl K</kbd>
      </button>
      {isOpen && <Search onClose={() => setOpen(false)} />}
    </>
  );
}

function isField(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'))
  );
}

function Search({ onClose }: { onClose: () => void }) {
  const text = useTexts('search');
  const [query, setQuery] = useState('');
  const [chosen, setChosen] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const results = useResults(query);
  const active = Math.min(chosen, results.length - 1);
  useEffect(() => {
    dialog.current?.showModal();
    return () => dialog.current?.close();
  }, []);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [active, results.length]);
  const open = ({ kind, href }: Result) => {
    onClose();
    if (kind === 'docs') window.open(href, '_blank', 'noopener');
    else location.assign(href);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const result = results[active];
    if (step !== undefined && results.length > 0)
      setChosen((active + step + results.length) % results.length);
    else if (event.key === 'Enter' && result) open(result);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} class="dialog search" aria-label={text.title} onClose={onClose}>
      <div class="search-field">
        {/* biome-ignore lint/a11y/useAriaPropsSupportedByRole: its role is combobox */}
        <input
          {...COMBOBOX}
          aria-label={text.label}
          aria-expanded={results.length > 0}
          aria-controls="search-results"
          aria-autocomplete="list"
          aria-activedescendant={results.length > 0 ? `search-${active}` : undefined}
          placeholder={text.label}
          autocomplete="off"
          value={query}
          onInput={({ currentTarget }) => {
            setQuery(currentTarget.value);
            setChosen(0);
          }}
          onKeyDown={onKey}
        />
        <Button icon="close" label={text.close} onClick={onClose} />
      </div>
      <p class="hidden" role="status">
        {query.trim() !== '' && text.count(results.length)}
      </p>
      {query.trim() !== '' && results.length === 0 && <p class="faint">{text.none}</p>}
      <div id="search-results" class="search-results" role="listbox" aria-label={text.results} ref={list}>
        {results.map((result, index) => (
          <div
            key={`${result.kind} ${result.href} ${result.title}`}
            id={`search-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === active}
            onClick={() => open(result)}
            onKeyDown={onKey}
          >
            <span>{result.title}</span> <span class="badge">{text.kinds[result.kind]}</span>
            {result.about && <span class="faint about">{result.about}</span>}
          </div>
        ))}
      </div>
    </dialog>
  );
}

/** What has the words of a query; without one, the pages. */
function useResults(query: string): Result[] {
  const may = useMay();
  const titles = useTexts('pages');
  const settings = useTexts('settings');
  const sections = useTexts('sections');
  const service = useTexts('service');
  const words = foldedOf(query).split(/\s+/).filter(Boolean);
  const asked = useDelayed(query.trim());
  const chats = useQuery(
    'GET /api/chats',
    asked !== '' && may('messages:read') ? { query: { text: asked.slice(0, 200), limit: MAX_SHOWN } } : null,
  );
  const routes = useQuery('GET /api/routes', asked !== '' && may('routes:read') ? {} : null);
  const variables = useQuery('GET /api/settings', asked !== '' && may('admin') ? {} : null);
  const docs = useQuery(
    'GET /api/docs/search',
    asked === '' ? null : { query: { query: asked.slice(0, 200), limit: MAX_SHOWN } },
  );
  const fits = (...texts: Array<string | undefined>) => {
    const folded = foldedOf(texts.join(' '));
    return words.every((word) => folded.includes(word));
  };
  const some = (results: readonly Result[]) =>
    results
      .filter(({ title, about }) => fits(title, about))
      .slice(0, words.length === 0 ? Infinity : MAX_SHOWN);
  const pages = PAGES.filter(({ scope }) => may(scope)).map(
    ({ path, name }): Result => ({ kind: 'pages', title: titles[name], href: hrefOf(`/${path}`) }),
  );
  if (words.length === 0) return some(pages);
  const forms = Object.entries(settings.tabs).map(
    ([tab, title]): Result => ({
      kind: 'settings',
      title,
      about: settings.title,
      href: hrefOf(`/settings/${tab}`),
    }),
  );
  const groups = Object.values(sections).map(
    (title): Result => ({
      ...{ kind: 'settings', title, about: settings.tabs.conversation },
      href: hrefOf('/settings/conversation'),
    }),
  );
  const found = (variables.data?.data ?? []).map(
    ({ name, meaning }): Result => ({
      ...{ kind: 'settings', title: name, about: (service?.settings[name] ?? meaning).replaceAll('`', '') },
      href: hrefOf('/settings/environment', { find: name }),
    }),
  );
  return [
    ...some(pages),
    // The service has searched more than what is shown.
    ...(chats.data?.data ?? []).map(
      ({ id, name, phone, channelId }): Result => ({
        ...{ kind: 'chats', title: name ?? phone ?? channelId, about: name && (phone ?? channelId) },
        href: hrefOf(`/chats/${id}`),
      }),
    ),
    ...some(
      (routes.data?.data ?? []).map(
        ({ id, name, channelId, agentEndpoint }): Result => ({
          ...{ kind: 'routes', title: name ?? channelId, about: agentEndpoint },
          href: hrefOf(`/routes/${id}`),
        }),
      ),
    ),
    ...(may('admin') ? some([...forms, ...groups, ...found]) : []),
    ...(docs.data?.data ?? []).map(
      ({ page, title, heading, anchor, excerpt }): Result => ({
        ...{ kind: 'docs', title: heading === undefined ? title : `${title} › ${heading}`, about: excerpt },
        href: `${baseUrl}docs/${page}${anchor === undefined ? '' : `#${anchor}`}`,
      }),
    ),
  ];
}

/** The value as it was before it last changed, until it has stayed for a moment. */
function useDelayed(value: string): string {
  const [delayed, setDelayed] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDelayed(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return delayed;
}

/** Without upper case and accents. */
function foldedOf(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}
