import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { ACCOUNT_STATES } from '../../../router/src/core/cluster/account-state.ts';
import type { AccountStatus } from '../../../router/src/core/ports/chat-provider.ts';
import { MOODS, qrPage, REFRESH_SCRIPT } from '../../../router/src/features/pages/qr-page.ts';

const NOW_MS = Date.UTC(2026, 0, 1);

function shown(change: Partial<AccountStatus> = {}, others: AccountStatus[] = [], command?: string): string {
  return qrPage(aStatus(change), others, NOW_MS, command).html ?? '';
}

function aStatus(change: Partial<AccountStatus> = {}): AccountStatus {
  return { accountId: 'default', state: 'open', nextAction: 'Do this.', sinceMs: 0, ...change };
}

const pairing = { state: 'pairing', qr: '2@abc,def,ghi' } as const;

describe('qrPage', () => {
  it.each(ACCOUNT_STATES)('shows the state %s with its colour, title, action and reason', (state) => {
    const text = shown({ state, nextAction: 'Do this & that.', reason: 'Because <b>.' });
    expect(text).toContain(`<p class="state ${MOODS[state]}">${state}</p>`);
    expect(text).toMatch(/<h1>[^<]+<\/h1>/);
    expect(text).toContain('<p>Do this &amp; that.</p>');
    expect(text).toContain('Because &lt;b&gt;.');
  });

  it('encodes the name of the account in each address', () => {
    const text = shown({ ...pairing, accountId: 'a&b' }, [aStatus({ accountId: 'c/d' })]);
    expect(text).toContain('src="qr/image?account=a%26b&v=');
    expect(text).toContain('data-post="/api/accounts/a%26b/pair"');
    expect(text).toContain('<a href="qr?account=c%2Fd">c/d</a> (open)');
  });

  it.each([
    ['ABCD1234', 'ABCD-1234'],
    ['ABC', 'ABC'],
  ])('shows the pairing code %s as %s, and no picture', (pairingCode, written) => {
    const text = shown({ state: 'pairing', pairingCode });
    expect(text).toContain(`>${written}</p>`);
    expect(text).toContain(`aria-label="Pairing code ${[...pairingCode].join(' ')}"`);
    expect(text).not.toContain('<img');
    expect(text).toContain('Use a QR code instead');
  });

  it('says that the code comes while there is none', () => {
    const text = shown({ state: 'pairing' });
    expect(text).toContain('The QR code will appear here in a moment.');
    expect(text).toContain('<p>Do this.</p>');
    expect(shown(pairing)).not.toContain('<p>Do this.</p>');
  });

  it.each([
    [42_400, 'Next attempt in 42 s.'],
    [119_400, 'Next attempt in 119 s.'],
    [120_000, 'Next attempt in 2 minutes.'],
    [400, 'Reconnecting now.'],
    [-5_000, 'Reconnecting now.'],
  ])('shows a connection in %i ms as "%s"', (waitMs, sentence) => {
    expect(shown({ state: 'waiting', retryAtMs: NOW_MS + waitMs })).toContain(sentence);
  });

  it('shows a time of the next attempt only while it waits', () => {
    expect(shown({ state: 'open', retryAtMs: NOW_MS + 1_000 })).not.toContain('Next attempt');
    expect(shown({ state: 'waiting' })).not.toContain('Next attempt');
  });

  it('shows the linked number and name, escaped', () => {
    const text = shown({ phone: '5493777239922', name: '<Ana>' });
    expect(text).toContain('<dd>+5493777239922</dd>');
    expect(text).toContain('<dd>&lt;Ana&gt;</dd>');
  });

  it('shows the command that adds a route instead of "nothing to do"', () => {
    const text = shown({}, [], `curl -d '{"a":1}'`);
    expect(text).toContain('<pre>curl -d &#39;{&quot;a&quot;:1}&#39;</pre>');
    expect(text).not.toContain('<p>Do this.</p>');
    expect(text).not.toContain('You can close this page');
    expect(shown()).toContain('You can close this page');
  });

  it.each([
    ['pairing', '/api/accounts/default/pair'],
    ['logged-out', '/api/accounts/default/pair'],
    ['waiting', '/api/accounts/default/restart'],
    ['stopped', '/api/accounts/default/restart'],
    ['restricted', '/api/accounts/default/restart'],
    ['open', undefined],
    ['connecting', undefined],
    ['starting', undefined],
  ] as const)('in the state %s has a button for %s', (state, path) => {
    expect(/data-post="([^"]+)"/.exec(shown({ state }))?.[1]).toBe(path);
  });
});

/** The parts of a page by their names, as `querySelectorAll('[data-part]')` finds them. */
function partsOf(text: string) {
  const found = text.matchAll(/data-part="(\w+)"[^>]*>([\s\S]*?)<\/(?:div|ul)>/g);
  return [...found].map(([, part, innerHTML = '']) => ({ dataset: { part }, innerHTML }));
}

/** Runs the script of a page over the few parts of a browser that it uses. */
async function refreshed(first: string, fetched: () => Promise<string>) {
  const alertBox = { textContent: '' };
  const parts = partsOf(first);
  const parsed: string[] = [];
  let reloads = 0;
  const reload = () => {
    reloads += 1;
  };
  let tick: () => Promise<void> = async () => undefined;
  const documentOf = (text: string) => ({
    querySelector: (selector: string) => {
      if (selector === 'h1') return { textContent: /<h1>(.*?)<\/h1>/.exec(text)?.[1] };
      const name = /data-part="(\w+)"/.exec(selector)?.[1];
      return partsOf(text).find(({ dataset }) => name === undefined || dataset.part === name) ?? null;
    },
  });
  const document = {
    hidden: false,
    title: '',
    querySelector: () => alertBox,
    querySelectorAll: () => parts,
    addEventListener: () => undefined,
  };
  runInNewContext(REFRESH_SCRIPT, {
    document,
    location: { href: '/qr', reload },
    fetch: async () => ({ text: fetched }),
    DOMParser: class {
      parseFromString(text: string) {
        parsed.push(text);
        return documentOf(text);
      }
    },
    setInterval: (work: () => Promise<void>) => {
      tick = work;
    },
  });
  await tick();
  return { alertBox, parts, parsed, document, tick: () => tick(), reloads: () => reloads };
}

describe('the script of the pairing page', () => {
  it('replaces the changed parts and keeps the page, with what a person has typed', async () => {
    const before = shown(pairing);
    const { parts, document, reloads, parsed } = await refreshed(before, async () =>
      shown({ phone: '5493777239922' }),
    );
    expect(reloads()).toBe(0);
    expect(document.title).toBe('Connected · wa2ai');
    expect(parts.find(({ dataset }) => dataset.part === 'facts')?.innerHTML).toContain('+5493777239922');
    // The style of a head would break the policy of the page that parses it.
    expect(parsed[0]).toMatch(/^<body/);
  });

  it('does not touch a part that is as before', async () => {
    const before = shown(pairing);
    const { parts } = await refreshed(before, async () => shown(pairing));
    expect(parts).toEqual(partsOf(before));
  });

  it('reloads when the page became another one, such as the login form', async () => {
    const { reloads } = await refreshed(shown(), async () => '<body><h1>Log in</h1></body>');
    expect(reloads()).toBe(1);
  });

  it('says that wa2ai does not answer until it answers again', async () => {
    let isLost = true;
    const { alertBox, tick } = await refreshed(shown(), async () => {
      if (isLost) throw new TypeError('Failed to fetch');
      return shown();
    });
    expect(alertBox.textContent).toBe('wa2ai does not answer. Trying again.');
    isLost = false;
    await tick();
    expect(alertBox.textContent).toBe('');
  });
});
