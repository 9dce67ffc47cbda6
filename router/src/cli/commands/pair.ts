import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliError } from '../exit-code.ts';
import { oneLine } from '../output/visible-text.ts';
import { part } from './show-list.ts';

/** How often the state of the account is read. */
const POLL_MS = 1_000;

/** States that no waiting changes. */
const ENDS = ['replaced', 'stopped'];

interface Account {
  accountId: string;
  state: string;
  nextAction: string;
  /** In `outdated`: when a newer version is looked for; absent: only an operator can change it. */
  retryAt?: string;
  qr?: string;
  pairingCode?: string;
  passkey?: { step: string; code?: string };
  reason?: string;
  phone?: string;
}

/** `wa2ai pair`: links a WhatsApp account and waits until it is linked. */
export function addPair(parent: Command, cli: Cli): void {
  parent
    .command('pair')
    .description('link a WhatsApp account by QR code or code, and wait until it is linked')
    .argument('[account]', 'id of the account; default: the only one')
    .option('--code <phone>', 'link with an eight-letter code for this phone number instead of a QR code')
    .action(async (account: string | undefined, { code }: { code?: string }) => {
      const api = await cli.api();
      const id = account ?? (await onlyAccount(() => api.call('GET', '/api/accounts')));
      const path = `/api/accounts/${part(id)}`;
      const body = code === undefined ? { method: 'qr' } : { method: 'code', phone: code };
      await api.call('POST', `${path}/pair`, { body });
      let shown: string | undefined;
      let step: string | undefined;
      for (;;) {
        const { data } = await api.call<{ data: Account }>('GET', path);
        if (data.state === 'open' || data.state === 'restricted') {
          cli.showLine(data, () => `The account "${id}" is linked${data.phone ? ` to ${data.phone}` : ''}.`);
          return;
        }
        const isOutdated = data.state === 'outdated';
        // Until the passkey has linked the account, or did not, the steps are on a page of the console.
        const isGivenUp = data.state === 'passkey-required' && data.passkey === undefined;
        if (isGivenUp || ENDS.includes(data.state) || (isOutdated && data.retryAt === undefined)) {
          throw new CliError([data.reason, data.nextAction].filter(Boolean).join(' '));
        }
        if (data.passkey && data.passkey.step !== step) showStep(cli, data);
        step = data.passkey?.step;
        // What a person should know while nothing can be scanned or typed.
        const isHindered = isOutdated || data.state === 'proxy-failed';
        const next =
          data.pairingCode ?? data.qr ?? (isHindered ? (data.reason ?? data.nextAction) : undefined);
        if (next !== undefined && next !== shown) await showNext(cli, data);
        shown = next ?? shown;
        await sleep(POLL_MS);
      }
    });
}

async function onlyAccount(list: () => Promise<{ data: readonly Account[] }>): Promise<string> {
  const { data } = await list();
  const [first, second] = data;
  if (!first) throw new CliError('There is no WhatsApp account. Add one with "wa2ai accounts add".');
  if (second) {
    const names = data.map(({ accountId }) => accountId).join(', ');
    throw new CliError(`There are several accounts. Name one of them: ${names}.`);
  }
  return first.accountId;
}

function showStep(cli: Cli, account: Account): void {
  if (cli.isJson) {
    cli.showLine(account, () => '');
    return;
  }
  const code = account.passkey?.code;
  cli.say(oneLine(`${account.nextAction}${code === undefined ? '' : ` Code: ${dashed(code)}`}`));
}

/** `ABCD-EFGH` */
function dashed(code: string): string {
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

async function showNext(cli: Cli, account: Account): Promise<void> {
  const { qr, pairingCode, reason, nextAction } = account;
  if (cli.isJson) return cli.showLine(account, () => '');
  if (pairingCode !== undefined) {
    const spaced = oneLine(dashed(pairingCode));
    cli.say(`On the phone: Linked devices > Link a device > Link with phone number. Enter ${spaced}`);
  } else if (qr !== undefined) {
    const { default: QRCode } = await import('qrcode');
    const picture = await QRCode.toString(qr, { type: 'terminal', small: true });
    cli.say(`On the phone: Linked devices > Link a device. Scan this:\n\n${picture}`);
  } else cli.say(oneLine([reason, nextAction].filter(Boolean).join(' ')));
}
