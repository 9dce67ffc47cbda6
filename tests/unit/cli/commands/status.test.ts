import { describe, expect, it } from 'vitest';
import { runWa2ai } from '../../../support/cli.ts';
import { httpApi } from '../../../support/http-api.ts';

const api = httpApi();

const status = (...args: string[]) => runWa2ai(['status', '--url', api.url, ...args]);

describe('wa2ai status', () => {
  it('shows the accounts and ends with 1 while one of them waits for a person', async () => {
    api.accounts.set({ state: 'pairing', nextAction: 'Scan the QR code.', node: 'n1' });
    const { code, output } = await status();
    expect(code).toBe(1);
    expect(output).toMatch(/^wa2ai +not-ready, at http.*\nwhy +Account default is pairing\.\n/);
    expect(output).toMatch(/\nACCOUNT +STATE +NEXT\ndefault +pairing +Scan the QR code\.\n$/);
  });

  it('ends with 0 when wa2ai is ready, also as JSON', async () => {
    api.accounts.set({ state: 'open', node: 'n1' });
    const { code, output } = await status('--json');
    expect(code).toBe(0);
    expect(JSON.parse(output)).toMatchObject({ database: 'ok', ready: { status: 'ready', node: 'n1' } });
  });

  it('shows a database that fails', async () => {
    api.database.failure = new Error('gone');
    const { code, output } = await status();
    expect(code).toBe(1);
    expect(output).toMatch(/\ndatabase +failing\n/);
    expect(output).toContain('The database does not answer.');
  });
});
