import { useEffect, useState } from 'preact/hooks';

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

function placeOf(hash: string): Place {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  return {
    parts: path.split('/').filter(Boolean).map(decodeURIComponent),
    query: new URLSearchParams(search),
  };
}
