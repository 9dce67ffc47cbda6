import { describe, expect, it } from 'vitest';
import { html } from '../../../../../router/src/infra/faces/pages/html.ts';
import { page } from '../../../../../router/src/infra/faces/pages/page-frame.ts';

type Input = Parameters<typeof page>[0];

function shown(change: Partial<Input> = {}) {
  const {
    status,
    headers,
    html: text = '',
  } = page({ status: 200, title: 'T', main: html`<h1>T</h1>`, ...change });
  return { status, text, policy: headers?.['content-security-policy'] ?? '' };
}

describe('page', () => {
  it('escapes its title and what stands beside the name of the service', () => {
    const { text } = shown({ title: '<b>', aside: 'a & b' });
    expect(text).toContain('<title>&lt;b&gt; · wa2ai</title>');
    expect(text).toContain('<span>a &amp; b</span>');
  });

  it('has a new nonce each time, under which only its own style and script run', () => {
    const script = 'let x = 1 < 2;';
    const first = shown({ script });
    const nonce = /script-src 'nonce-([^']+)'/.exec(first.policy)?.[1] ?? '';
    expect(nonce).toHaveLength(24);
    expect(first.text).toContain(`<style nonce="${nonce}">`);
    expect(first.text).toContain(`<script nonce="${nonce}">${script}</script>`);
    expect(first.policy).toMatch(/^default-src 'none'; /);
    expect(first.policy).not.toContain('unsafe');
    expect(shown({ script }).policy).not.toBe(first.policy);
  });

  it('has no script and no refresh unless it is given one', () => {
    const { text } = shown();
    expect(text).not.toContain('<script');
    expect(text).not.toContain('http-equiv');
  });

  it('reloads without JavaScript only', () => {
    const refresh = '<noscript><meta http-equiv="refresh" content="5"></noscript>';
    expect(shown({ reloadSeconds: 5 }).text).toContain(refresh);
  });

  it('is wide on request', () => {
    expect(shown({ isWide: true }).text).toContain('<body class="wide">');
    expect(shown().text).not.toContain('<body class="wide">');
  });

  it('keeps the status', () => {
    expect(shown({ status: 401 }).status).toBe(401);
  });
});
