import { useEffect, useRef, useState } from 'preact/hooks';

/** Where the console is: `#/chats/12?search=hello` has the parts `chats` and `12`. */
export interface Place {
  parts: string[];
  query: URLSearchParams;
}

/** The address of a page for `href`: `/chats/12` becomes `#/chats/12`. It works behind any path prefix. */
export function hrefOf(path: string, query: Record<string, string | undefined> = {}): string {
  const entries = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const search = new URLSearchParams(entries).toString();
  return `#${path}${search === '' ? '' : `?${search}`}`;
}

/** Opens a page. `replace`: without a new entry in the history of the browser. */
export function navigate(
  path: string,
  query: Record<string, string | undefined> = {},
  replace = false,
): void {
  const url = hrefOf(path, query);
  if (replace) location.replace(url);
  else location.assign(url);
}

/** The place now; the component is drawn again when it changes. */
export function usePlace(): Place {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return placeOf(hash);
}

/** Whether a form that is open has something that is not saved. */
const unsaved = new Set<() => boolean>();

/** Asks before another page opens while `isUnsaved` says so. */
export function useUnsaved(isUnsaved: () => boolean): void {
  const latest = useRef(isUnsaved);
  latest.current = isUnsaved;
  useEffect(() => {
    const form = () => latest.current();
    unsaved.add(form);
    return () => void unsaved.delete(form);
  }, []);
}

/**
 * Begins to ask before a page with unsaved changes is left. Call it before anything else listens to changes of the address.
 * @param question in the language of now
 */
export function guardUnsaved(question: () => string): void {
  const isUnsaved = () => [...unsaved].some((form) => form());
  let shown = location.hash;
  addEventListener('hashchange', (event) => {
    const isOtherPlace = pathOf(location.hash) !== pathOf(shown);
    if (isOtherPlace && isUnsaved() && !confirm(question())) {
      event.stopImmediatePropagation();
      history.replaceState(null, '', shown || '#/');
      return;
    }
    shown = location.hash;
  });
  addEventListener('beforeunload', (event) => {
    if (isUnsaved()) event.preventDefault();
  });
}

function pathOf(hash: string): string {
  return placeOf(hash).parts.join('/');
}

function placeOf(hash: string): Place {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  return {
    parts: path.split('/').filter(Boolean).map(decodeURIComponent),
    query: new URLSearchParams(search),
  };
}
