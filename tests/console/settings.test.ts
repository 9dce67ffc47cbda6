import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { expectAccessible } from './browser.ts';
import { consolesOf } from './consoles.ts';

const TABS = ['', '/environment', '/service', '/governor', '/npc', '/a2a', '/mcp', '/nodes'];

let bed: TestBed;
const { open, mayComplain } = consolesOf(() => bed.service.url);

beforeAll(async () => {
  bed = await TestBed.startPaired();
});
afterAll(async () => {
  await bed?.close();
});

/** What the API shows of the settings. */
async function shown(name: string): Promise<Record<string, unknown>> {
  return (await bed.service.api('GET', `/api/settings/${name}`)).body.data as Record<string, unknown>;
}

async function stored(name: 'conversation' | 'governor'): Promise<Record<string, unknown>> {
  return (await shown(name)).stored as Record<string, unknown>;
}

describe('the page Settings', () => {
  it.each([
    {
      language: 'es-ES',
      port: 'Puerto de la API y de las páginas. 0 elige un puerto libre.',
      find: ['Buscar un ajuste', 'auditoría'],
      audit: 'Cuánto se conservan las entradas del registro de auditoría.',
      save: 'Guardar',
      wrong: 'debe ser al menos 100',
      message: ['Quién escribe', 'Mensaje'],
      takes: [/La ruta .* lleva el mensaje a http/, 'Esta regla toma el mensaje.'],
    },
    {
      language: 'pt-BR',
      port: 'Porta da API e das páginas. 0 escolhe uma porta livre.',
      find: ['Buscar uma configuração', 'auditoria'],
      audit: 'Por quanto tempo ficam as entradas do registro de auditoria.',
      save: 'Salvar',
      wrong: 'deve ser pelo menos 100',
      message: ['Quem escreve', 'Mensagem'],
      takes: [/A rota .* leva a mensagem para http/, 'Esta regra fica com a mensagem.'],
    },
  ] as const)(
    'says in $language what settings mean, what is wrong with a value, and which rule takes a message',
    async (expected) => {
      mayComplain(/400 \(Bad Request\)/);
      const { page, goTo } = await open({ language: expected.language });
      await goTo('settings/environment');
      await page.getByText(expected.port).waitFor();
      await page.getByLabel(expected.find[0]).fill(expected.find[1]);
      await page.getByText(expected.audit).waitFor();
      expect(await page.locator('.meaning').count()).toBe(1);

      await goTo('settings/conversation');
      const setting = page.locator('[data-setting="reply.maxChars"]');
      await setting.getByRole('spinbutton').fill('5');
      await page.getByRole('button', { name: expected.save, exact: true }).click();
      await setting.locator('.field-error').getByText(expected.wrong).waitFor();

      // The wrong value is not saved.
      page.once('dialog', (question) => question.accept());
      await goTo('routes');
      await page.getByLabel(expected.message[0], { exact: true }).fill('+5493777239922');
      await page.getByLabel(expected.message[1], { exact: true }).fill('hola');
      await page.getByText(expected.takes[0]).waitFor();
      await page.getByText(expected.takes[1]).waitFor();
    },
  );

  it('changes defaults of the conversation, shows a mistake at its field, and resets one', async () => {
    mayComplain(/400 \(Bad Request\)/);
    const { page, goTo } = await open();
    await goTo('settings/conversation');
    const setting = (path: string) => page.locator(`[data-setting="${path}"]`);
    const save = page.getByRole('button', { name: 'Save', exact: true });
    expect(await save.isDisabled()).toBe(true);
    await setting('reply.maxChars').getByRole('spinbutton').fill('5');
    await setting('reply.format').getByRole('combobox').selectOption('plain');
    await setting('access.list').getByRole('textbox').fill('+34 600 000 001\n34600000002');
    await page.getByText('Advanced').click();
    await setting('when.days').getByLabel('Mon').check();
    await save.click();
    await expect
      .poll(() => setting('reply.maxChars').getByRole('spinbutton').getAttribute('aria-invalid'))
      .toBe('true');
    expect(await setting('reply.maxChars').locator('.field-error').textContent()).toMatch(/100/);
    await expectAccessible(page);
    await setting('reply.maxChars').getByRole('spinbutton').fill('500');
    await save.click();
    await page.getByText('Saved.', { exact: true }).waitFor();
    expect(await stored('conversation')).toMatchObject({
      reply: { maxChars: 500, format: 'plain' },
      access: { list: ['+34 600 000 001', '34600000002'] },
      when: { days: ['mon'] },
    });
    await page.getByRole('button', { name: 'Reset to default: Replies' }).click();
    await page.getByText('There are changes that are not saved.').waitFor();
    await save.click();
    await expect.poll(async () => (await stored('conversation')).reply).toBeUndefined();
    await page.getByRole('button', { name: 'Reset all to default' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Reset all to default' }).click();
    await expect.poll(() => stored('conversation')).toEqual({});
  });

  it('takes a time with its unit, and shows the value in force among the variables', async () => {
    const { page, goTo } = await open();
    await goTo('settings/service');
    const limit = page.locator('[data-setting=agentTimeoutMs]');
    await limit.getByRole('textbox').fill('soon');
    await limit.locator('.field-error').getByText('Write a number with its unit: ms, s, m, h, d.').waitFor();
    await limit.getByRole('textbox').fill('90s');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved.', { exact: true }).waitFor();
    expect((await shown('service')).stored).toEqual({ agentTimeoutMs: 90_000 });
    await goTo('settings/environment');
    await page.getByRole('row', { name: /WA2AI_AGENT_TIMEOUT.* 90s .*Settings/ }).waitFor();
    expect(await page.getByText('WA2AI_FAULT_POINT').count()).toBe(0);
    await bed.service.api('PUT', '/api/settings/service', {});
  });

  it('changes how accounts send, for all and for one, which a second browser sees', async () => {
    const [first, second] = [await open(), await open()];
    await Promise.all([first.goTo('settings/governor'), second.goTo('settings/governor')]);
    const { page } = first;
    await page.locator('[data-setting="firstContacts.perDay"]').getByRole('spinbutton').fill('33');
    await page.getByLabel('Add an entry to accounts').fill('default');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page
      .locator('[data-setting="accounts.default.messages.perSecond"]')
      .getByRole('spinbutton')
      .fill('7');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved.', { exact: true }).waitFor();
    expect(await stored('governor')).toEqual({
      firstContacts: { perDay: 33 },
      accounts: { default: { messages: { perSecond: 7 } } },
    });
    const seen = second.page.locator('[data-setting="firstContacts.perDay"]').getByRole('spinbutton');
    await expect.poll(() => seen.inputValue()).toBe('33');
  });

  it('shows that somebody changed the settings meanwhile, and saves over it only on demand', async () => {
    mayComplain(/412 \(Precondition Failed\)/);
    const { page, goTo } = await open();
    await goTo('settings/governor');
    const burst = page.locator('[data-setting="messages.burst"]').getByRole('spinbutton');
    const save = page.getByRole('button', { name: 'Save', exact: true });
    const change = (burst: number) =>
      bed.service.api('PUT', '/api/settings/governor', { messages: { burst } });
    await burst.fill('11');
    await change(22);
    await page.getByText('Somebody changed these settings meanwhile.').waitFor();
    await save.click();
    await page.getByRole('alert').getByText('It was changed meanwhile').waitFor();
    expect(await stored('governor')).toEqual({ messages: { burst: 22 } });
    await page.getByRole('button', { name: 'Load again' }).click();
    await expect.poll(() => burst.inputValue()).toBe('22');
    await burst.fill('33');
    await change(44);
    await page.getByRole('button', { name: 'Save anyway' }).click();
    await page.getByText('Saved.', { exact: true }).waitFor();
    expect(await stored('governor')).toEqual({ messages: { burst: 33 } });
    await bed.service.api('PUT', '/api/settings/governor', {});
  });

  it('switches the NPC server on, with a name', async () => {
    const { page, goTo } = await open();
    await goTo('settings/npc');
    await page.locator('[data-setting=enabled]').getByRole('checkbox').check();
    await page.locator('[data-setting=name]').getByRole('textbox').fill('Old Guard');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved.', { exact: true }).waitFor();
    expect(await shown('npc')).toMatchObject({ enabled: true, name: 'Old Guard' });
  });

  it('lists the nodes', async () => {
    const { page, goTo } = await open();
    await goTo('settings/nodes');
    await page.getByRole('row', { name: /e2e \(this one\) alive/ }).waitFor();
  });

  it.each(['light', 'dark'] as const)('has no violation of axe in %s colours', async (theme) => {
    const { page, goTo } = await open({ theme });
    for (const tab of TABS) {
      await goTo(`settings${tab}`);
      await expectAccessible(page);
    }
  });

  it('fits a phone of 390 px and a screen of 3,840 px', async () => {
    for (const widthPx of [390, 3_840]) {
      const { page, goTo } = await open({ widthPx });
      for (const tab of TABS) {
        await goTo(`settings${tab}`);
        expect(await page.evaluate('document.documentElement.scrollWidth'), tab).toBeLessThanOrEqual(widthPx);
      }
    }
  });
});
