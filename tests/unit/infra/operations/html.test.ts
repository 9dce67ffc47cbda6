import { expect, it } from 'vitest';
import { html } from '../../../../router/src/infra/operations/page-frame.ts';

it('html escapes each value except its own markup, and omits undefined and false', () => {
  const item = (text: string) => html`<li>${text}</li>`;
  expect(html`<ul title="${'"\''}">${['<a>', '&'].map(item)}${undefined}${false}${0}</ul>`.toString()).toBe(
    '<ul title="&quot;&#39;"><li>&lt;a&gt;</li><li>&amp;</li>0</ul>',
  );
});
