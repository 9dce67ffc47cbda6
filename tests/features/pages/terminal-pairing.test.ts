import { beforeEach, describe, expect, it } from 'vitest';
import type { AccountStatus } from '../../../router/src/core/ports/chat-provider.ts';
import { TerminalPairing } from '../../../router/src/features/pages/qr-page.ts';

const status: AccountStatus = { accountId: 'sales', state: 'pairing', nextAction: 'Scan.', sinceMs: 0 };

describe('TerminalPairing', () => {
  let written: string[];
  let terminal: TerminalPairing;
  beforeEach(() => {
    written = [];
    terminal = new TerminalPairing(
      (text) => written.push(text),
      () => 'http://127.0.0.1:3000',
    );
  });

  it('shows a code once, with the page of its account', async () => {
    await terminal.show({ ...status, qr: 'a' });
    await terminal.show({ ...status, qr: 'a' });
    expect(written).toHaveLength(1);
    expect(written[0]).toContain('http://127.0.0.1:3000/qr?account=sales');
  });

  it('shows where the pages are once they are served, and again below each QR code', async () => {
    await terminal.show({ ...status, qr: 'before' });
    expect(written[0]).not.toContain('Console');
    terminal.ready();
    await terminal.show({ ...status, qr: 'after' });
    for (const text of written.slice(1)) {
      const lines = text.trimEnd().split('\n').slice(-3);
      expect(lines.map((line) => line.trim().split(/ {2,}/))).toEqual([
        ['Console', 'http://127.0.0.1:3000/console/'],
        ['Playground', 'http://127.0.0.1:3000/console/#/playground'],
        ['QR code', 'http://127.0.0.1:3000/qr'],
      ]);
    }
    expect(written).toHaveLength(3);
  });

  it('shows a pairing code in two halves', async () => {
    await terminal.show({ ...status, pairingCode: 'ABCD1234' });
    expect(written[0]).toContain('ABCD-1234');
  });

  it('prints five QR codes, then only the address of the page, and starts again after the account was connected', async () => {
    for (let n = 0; n < 20; n++) await terminal.show({ ...status, qr: `code ${n}` });
    expect(written).toHaveLength(6);
    expect(written[5]).toContain('Further QR codes are not printed here');
    await terminal.show({ ...status, accountId: 'other', qr: 'code' });
    expect(written).toHaveLength(7);
    await terminal.show({ ...status, state: 'open' });
    await terminal.show({ ...status, qr: 'next' });
    expect(written).toHaveLength(8);
  });
});
