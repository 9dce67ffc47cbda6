import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { baseUrl } from '../api/base-url.ts';
import { call } from '../api/call.ts';
import { onLiveEvent, onLiveState, onReached } from '../api/live.ts';
import { Problem } from '../api/problem.ts';
import { Button } from '../components/button.tsx';
import { Icon } from '../components/icon.tsx';
import { PageFrame } from '../components/page.tsx';
import { EmptyState, ErrorState, Loading } from '../components/states.tsx';
import { Toasts } from '../components/toast.tsx';
import { PAGES, type Page, type PageProps } from '../pages.ts';
import { LANGUAGES } from '../translation/languages.ts';
import { CallerProvider, useCaller, useMay } from './caller.tsx';
import { chooseLanguage, language, useTexts } from './language.ts';
import { hrefOf, type Place, usePlace } from './location.ts';
import { NeedsProvider, useNeeds } from './needs.tsx';
import { SearchButton } from './search.tsx';
import { useStored } from './stored.ts';
import { THEMES, theme } from './theme.ts';

/** More are shown as `99+`. */
const MAX_COUNT = 99;

const GROUPS = ['work', 'connect', 'system'] as const;

/** The frame of the console: navigation at the side, the page beside it. */
export function Shell() {
  return (
    <CallerProvider>
      <NeedsProvider>
        <Frame />
      </NeedsProvider>
    </CallerProvider>
  );
}

function Frame() {
  const place = usePlace();
  const text = useTexts('shell');
  const titles = useTexts('pages');
  const chosen = useStored(language);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [isAway, setAway] = useState(false);
  useEffect(() => onReached((isReached) => setAway(!isReached)), []);
  const page = PAGES.find(({ path }) => path === (place.parts[0] ?? ''));
  const path = place.parts.join('/');
  useEffect(() => setMenuOpen(false), [path]);
  useEffect(() => {
    document.documentElement.lang = chosen;
    document.title = `${page ? titles[page.name] : text.notFound} · wa2ai`;
  }, [chosen, page, text, titles]);
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => document.querySelector<HTMLElement>('h1')?.focus()}>
        {text.skip}
      </button>
      <header class="bar">
        <a class="brand" href={hrefOf('/')}>
          <span class="logo">
            <Icon name="chat" />
          </span>
          wa2ai
        </a>
        <SearchButton />
        <button
          type="button"
          class="button quiet only-icon menu-button"
          aria-expanded={isMenuOpen}
          aria-controls="navigation"
          aria-label={text.menu}
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          <Icon name={isMenuOpen ? 'close' : 'menu'} />
        </button>
      </header>
      <div id="navigation" class={isMenuOpen ? 'side open' : 'side'}>
        <nav aria-label={text.pages}>
          {GROUPS.map((group) => (
            <Group
              key={group}
              title={text.groups[group]}
              pages={PAGES.filter((each) => each.group === group)}
              open={page}
            />
          ))}
        </nav>
        <Foot page={page} />
      </div>
      <main class={`content page-${page?.path || 'start'}`}>
        {isAway && (
          <div class="notice bad" role="alert">
            {text.away}
          </div>
        )}
        {page ? (
          <Opened key={page.path} page={page} place={place} />
        ) : (
          <EmptyState icon="home" title={text.notFound}>
            <a href={hrefOf('/')}>{text.toStart}</a>
          </EmptyState>
        )}
      </main>
      <Toasts />
    </div>
  );
}

function Group({ title, pages, open }: { title: string; pages: readonly Page[]; open: Page | undefined }) {
  const titles = useTexts('pages');
  const may = useMay();
  const allowed = pages.filter(({ scope }) => may(scope));
  if (allowed.length === 0) return null;
  return (
    <section>
      <h2>{title}</h2>
      <ul>
        {allowed.map((each) => (
          <li key={each.path}>
            <a href={hrefOf(`/${each.path}`)} aria-current={each === open ? 'page' : undefined}>
              <Icon name={each.icon} />
              {titles[each.name]}
              {each.path === '' && <NeedsCount />}
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** How much waits for the person. */
function NeedsCount() {
  const text = useTexts('needs');
  const count = useNeeds().all?.length ?? 0;
  if (count === 0) return null;
  const shown = count > MAX_COUNT ? `${MAX_COUNT}+` : String(count);
  return (
    <span class="badge busy">
      <span aria-hidden="true">{shown}</span>
      <span class="hidden"> {text.count(count)}</span>
    </span>
  );
}

function Foot({ page }: { page: Page | undefined }) {
  const search = useTexts('search');
  const titles = useTexts('pages');
  const text = useTexts('shell');
  const chosen = useStored(language);
  const colours = useStored(theme);
  const [isLive, setLive] = useState(false);
  useEffect(() => onLiveState(setLive), []);
  const session = useCaller();
  const logOut = async () => {
    await call('DELETE /api/session');
    location.assign(baseUrl);
  };
  return (
    <footer class="foot">
      <a
        href={`${baseUrl}docs/${page?.docs ?? 'README.md'}`}
        target="_blank"
        rel="noopener"
        aria-label={page && search.helpFor(titles[page.name])}
      >
        {search.help}
      </a>
      <p class={isLive ? 'live on' : 'live'}>{isLive ? text.live : text.polling}</p>
      <select
        aria-label={text.theme}
        value={colours}
        onInput={({ currentTarget }) => theme.set(currentTarget.value as typeof colours)}
      >
        {THEMES.map((each) => (
          <option key={each} value={each}>
            {text.themes[each]}
          </option>
        ))}
      </select>
      <select
        aria-label={text.language}
        value={chosen}
        onInput={({ currentTarget }) => chooseLanguage(currentTarget.value as typeof chosen)}
      >
        {Object.entries(LANGUAGES).map(([each, { name }]) => (
          <option key={each} value={each} lang={each}>
            {name}
          </option>
        ))}
      </select>
      {session?.sessionId !== undefined && <Button onClick={logOut}>{text.logOut}</Button>}
    </footer>
  );
}

/** The code of a page was not loaded. Browsers remember that, so only loading the console again helps. */
function NotLoaded() {
  const text = useTexts('shell');
  const [wasAway, setWasAway] = useState(false);
  useEffect(() => {
    let isFirst = true;
    let isAway = false;
    return onReached((isReached) => {
      if (isReached && isAway) location.reload();
      isAway = !isReached;
      if (isFirst || isAway) setWasAway(isAway);
      isFirst = false;
    });
  }, []);
  // Asks until the service answers: no query of a page does.
  useEffect(() => {
    call('GET /api/session').catch(() => undefined);
    return onLiveEvent(() => void call('GET /api/session').catch(() => undefined));
  }, []);
  const sentence = wasAway ? text.pageAway : text.pageGone;
  return <ErrorState problem={new Problem(0, 'UNREACHABLE', sentence)} retry={() => location.reload()} />;
}

/** The browser itself reads the first page; the focus stays before the content. */
let isFirstPage = true;

function Opened({ page, place }: { page: Page; place: Place }) {
  const [state, setState] = useState<{ Component?: ComponentType<PageProps>; isFailed?: true }>({});
  useEffect(() => {
    page.load().then(
      (Component) => setState({ Component }),
      () => setState({ isFailed: true }),
    );
  }, [page]);
  const { Component, isFailed } = state;
  const text = useTexts('shell');
  const caller = useCaller();
  const isAllowed = useMay()(page.scope);
  useEffect(() => {
    if (!Component) return;
    // a screen reader reads the heading of the page that was opened
    if (!isFirstPage) document.querySelector<HTMLElement>('h1')?.focus();
    isFirstPage = false;
  }, [Component]);
  if (caller && !isAllowed) {
    return (
      <PageFrame title={text.notAllowed}>
        <p>
          <a href={hrefOf('/')}>{text.toStart}</a>
        </p>
      </PageFrame>
    );
  }
  if (isFailed) return <NotLoaded />;
  if (!Component) return <Loading />;
  return <Component parts={place.parts.slice(page.path === '' ? 0 : 1)} query={place.query} />;
}
