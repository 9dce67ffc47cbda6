import { expect, it } from 'vitest';
import { browserName } from '../../../../../console/src/pages/users/browser-name.ts';

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)';

it.each([
  [`Mozilla/5.0 (X11; Linux x86_64) ${WEBKIT} Chrome/140.0.0.0 Safari/537.36`, 'Chrome 140, Linux'],
  [
    `Mozilla/5.0 (Windows NT 10.0) ${WEBKIT} Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0`,
    'Edge 140, Windows',
  ],
  ['Mozilla/5.0 (Android 15; Mobile; rv:142.0) Gecko/142.0 Firefox/142.0', 'Firefox 142, Android'],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Mobile/15E148 Safari/604.1',
    'Safari 18, iOS',
  ],
  ['curl/8.14.1', 'curl/8.14.1'],
  ['x'.repeat(200), 'x'.repeat(60)],
  ['', undefined],
  [undefined, undefined],
])('%j is shown as %j', (userAgent, shown) => {
  expect(browserName(userAgent)).toBe(shown);
});
