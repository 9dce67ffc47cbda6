const HERE = 'http://wa2ai.invalid';

/** The path, if it is one of wa2ai itself; otherwise the other one. A browser must not be sent to another site. */
export function ownPath(path: string | undefined, otherwise: string): string {
  // Browsers read `//host` and `/\host` as another host, and ignore tabs and line ends.
  if (path === undefined || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path)) return otherwise;
  return URL.canParse(path, HERE) && new URL(path, HERE).origin === HERE ? path : otherwise;
}
