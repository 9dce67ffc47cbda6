import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectAccessible, type OpenConsole, PAGES } from './browser.ts';
import { consolesOf } from './consoles.ts';
import { keepPicture } from './pictures.ts';
import { openShop, type Shop } from './shop.ts';

let shop: Shop;
const { open } = consolesOf(() => shop.bed.service.url);

beforeAll(async () => {
  shop = await openShop();
}, 120_000);
afterAll(async () => {
  await shop?.close();
});

/** The id of the first row of a list of the API. */
async function idIn(path: string): Promise<string> {
  const { body } = await shop.bed.service.api('GET', path);
  return (body.data as [{ id: string }])[0].id;
}

/** A chat whose last message failed, with its trace. */
async function openTrace({ page, goTo }: OpenConsole): Promise<void> {
  await goTo(`chats/${await idIn('/api/chats?failed=true')}`);
  await page.getByRole('button', { name: 'Trace' }).last().click();
  await page.getByRole('complementary', { name: 'Trace' }).getByText('Given up').waitFor();
}

describe('the console of a shop with 50 chats', () => {
  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
  ] as const)(
    'looks as before on every page from Start on, without a reload, %s, %i pixels wide',
    async (theme, widthPx) => {
      const shown = await open({ theme, widthPx });
      const { page, goTo } = shown;
      await goTo('');
      await page.evaluate('window.isSame = true');
      const different: string[] = [];
      const look = async (name: string) => {
        await page.mouse.move(0, 0);
        await expectAccessible(page);
        expect(await page.evaluate('document.documentElement.scrollWidth'), name).toBeLessThanOrEqual(
          widthPx,
        );
        if (await keepPicture(page, `${name}-${theme}-${widthPx}`)) different.push(name);
      };
      const route = await idIn('/api/routes?order=checked');
      for (const path of [...PAGES, 'agents/hosted', `routes/${route}`]) {
        await goTo(path);
        await look(path === '' ? 'start' : path.replace(route, 'one').replace('/', '-'));
      }
      await openTrace(shown);
      await look('chats-trace');
      expect(await page.evaluate('window.isSame'), 'the page was loaded again').toBe(true);
      if (different.length > 0)
        console.info(`dist/pictures shows what is different: ${different.join(', ')}`);
    },
  );
});
