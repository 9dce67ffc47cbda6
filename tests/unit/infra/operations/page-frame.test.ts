import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { html, page } from '../../../../router/src/infra/operations/page-frame.ts';

type Input = Parameters<typeof page>[0];

function shown(change: Partial<Input> = {}) {
  const {
    status,
    headers,
    html: text = '',
  } = page({ status: 200, title: 'T', main: html`<h1>T</h1>`, ...change });
  return { status, text, policy: String(headers?.['content-security-policy']) };
}

/** How a policy names the text of a style or script (Content Security Policy level 3). */
function sourceOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

describe('page', () => {
  it('escapes its title and what stands beside the name of the service', () => {
    const { text } = shown({ title: '<b>', aside: 'a & b' });
    expect(text).toContain('<title>&lt;b&gt; · wa2ai</title>');
    expect(text).toContain('<span>a &amp; b</span>');
  });

  it('allows its own style and script by their hashes, and nothing else', () => {
    const script = 'let x = 1 < 2;';
    const { text, policy } = shown({ script });
    const style = /<style>([\s\S]*)<\/style>/.exec(text)?.[1] ?? '';
    expect(text).toContain(`<script>${script}</script>`);
    expect(policy).toMatch(/^default-src 'none'; /);
    expect(policy).toContain(`style-src ${sourceOf(style)}; script-src ${sourceOf(script)};`);
    expect(policy).not.toContain('unsafe');
    expect(shown().policy).toContain("script-src 'none';");
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
});
