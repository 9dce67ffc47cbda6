import { type Clock, withLimit } from '../../../core/clock.ts';

const TIMEOUT_MS = 10_000;
const MAX_BYTES = 1_000_000;
const MAX_REDIRECTS = 3;
/** WhatsApp answers other clients than browsers with an error page. */
const HEADERS = {
  'sec-fetch-site': 'none',
  'user-agent':
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
};
/** In the page it is JSON within a string. */
const REVISION = /\\?"client_revision\\?":\s{0,9}(\d{1,15})(?!\d)/;

/** An HTTP answer, or why there is none. */
export type Page =
  | { kind: 'answer'; status: number; headers: Headers; body: Buffer }
  | { kind: 'fault'; detail: string };

/** One GET without redirects; the answer is at most `maxBytes` long. Never rejects. */
export type FetchPage = (
  url: string,
  options: { headers: Headers; signal: AbortSignal; maxBytes: number },
) => Promise<Page>;

interface ReadRevisionDeps {
  fetchPage: FetchPage;
  clock: Clock;
  signal: AbortSignal;
}

/**
 * Reads the client revision, the last number of the version, that WhatsApp Web has now: the first one in its service
 * worker (`sw.js`). Takes at most 10 s and 1 MB, and follows redirects on the same host only. Never rejects.
 */
export async function readClientRevision(
  url: string,
  { fetchPage, clock, signal }: ReadRevisionDeps,
): Promise<{ kind: 'found'; revision: number } | { kind: 'failed'; problem: string }> {
  const page = await withLimit(clock, TIMEOUT_MS, signal, (limited) => follow(url, fetchPage, limited));
  if (page.kind === 'fault') return { kind: 'failed', problem: page.detail };
  if (page.status !== 200) return { kind: 'failed', problem: `status ${page.status}` };
  const revision = REVISION.exec(page.body.toString('latin1'))?.[1];
  if (revision === undefined) return { kind: 'failed', problem: 'it names no client_revision' };
  return { kind: 'found', revision: Number(revision) };
}

async function follow(address: string, fetchPage: FetchPage, signal: AbortSignal): Promise<Page> {
  let url = new URL(address);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const page = await fetchPage(url.href, { headers: new Headers(HEADERS), signal, maxBytes: MAX_BYTES });
    if (signal.aborted) return { kind: 'fault', detail: `no answer in ${TIMEOUT_MS / 1_000} s` };
    if (page.kind === 'fault' || page.status < 300 || page.status >= 400) return page;
    const location = page.headers.get('location') ?? '';
    const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
    if (next?.origin !== url.origin) return { kind: 'fault', detail: 'it redirects to another host' };
    url = next;
  }
  return { kind: 'fault', detail: `more than ${MAX_REDIRECTS} redirects` };
}
