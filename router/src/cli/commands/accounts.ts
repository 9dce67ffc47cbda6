import type { Command } from 'commander';
import type { accountView } from '../../features/accounts/account-view.ts';
import type { Cli } from '../cli.ts';
import { CliError, CliUsageError, EXIT } from '../exit-code.ts';
import { durationOf, fields, oneLine, relativeTime, table } from '../output/table.ts';
import { asking, change, part, showList, textOf } from './lists.ts';
import { textOfFile } from './routes.ts';

/** `wa2ai accounts`: WhatsApp accounts. */
export function addAccounts(parent: Command, cli: Cli): void {
  const accounts = parent.command('accounts').description('list, add and remove WhatsApp accounts');
  accounts
    .command('list')
    .description('list accounts with their states and what to do next')
    .action(() =>
      showList<typeof accountView>(
        cli,
        '/api/accounts',
        {},
        {
          ACCOUNT: ({ id }) => textOf(id),
          STATE: ({ state }) => cli.colours.state(String(state), moodOf(String(state))),
          PHONE: ({ phone }) => textOf(phone),
          SINCE: ({ since }) => relativeTime(String(since), cli.host.now()),
          NEXT: ({ nextAction, state, retryAt }) =>
            state === 'restricted' && retryAt
              ? `Limited until ${String(retryAt).slice(0, 16).replace('T', ' ')} UTC. ${textOf(nextAction)}`
              : textOf(nextAction),
        },
      ),
    );
  accounts
    .command('add')
    .description('add an account; pair it next')
    .argument('<account>', 'a name such as sales')
    .option('--proxy <file>', 'file with the URL of its proxy, as in accounts proxy; - for standard input')
    .action((id: string, { proxy }: { proxy?: string }) =>
      change(cli, 'POST', '/api/accounts', {
        id,
        ...(proxy !== undefined && { proxy: proxyIn(proxy) }),
      }),
    );
  asking(accounts.command('remove'))
    .description('unlink an account and delete everything stored for it')
    .argument('<account>', 'id of the account')
    .action(async (id: string) => {
      const effect = `Account "${id}" will be unlinked and deleted with its routes, chats and messages. It cannot be undone.`;
      await cli.confirm(effect, id);
      await change(cli, 'DELETE', `/api/accounts/${part(id)}`);
    });
  asking(accounts.command('proxy'))
    .description('connect an account through a proxy, or directly again')
    .argument('<account>', 'id of the account')
    .argument(
      '[file]',
      'file with the URL, such as socks5://user:password@proxy.example:1080; - for standard input',
    )
    .option('--remove', 'remove the proxy: the account connects directly')
    .action(async (id: string, file: string | undefined, { remove }: { remove?: boolean }) => {
      if ((file === undefined) !== (remove === true)) {
        throw new CliUsageError('name either a file with the URL of the proxy, or --remove');
      }
      if (remove) await cli.confirm(`Account "${id}" will connect from the address of this machine.`);
      const proxy = file === undefined ? null : proxyIn(file);
      await change(cli, 'PUT', `/api/accounts/${part(id)}`, { proxy });
    });
  accounts
    .command('restart')
    .description('connect an account again, from any state')
    .argument('<account>', 'id of the account')
    .action((id: string) => change(cli, 'POST', `/api/accounts/${part(id)}/restart`));
  asking(accounts.command('logout'))
    .description('unlink an account at WhatsApp and start pairing')
    .argument('<account>', 'id of the account')
    .action(async (id: string) => {
      await cli.confirm(`Account "${id}" will be unlinked; nobody gets answers until it is paired again.`);
      await change(cli, 'POST', `/api/accounts/${part(id)}/logout`);
    });
}

/** From a file, so that the password is not in the arguments, which other users of the machine can read. */
function proxyIn(file: string): { url: string } {
  return { url: textOfFile(file).trim() };
}

interface Health {
  status: 'ok' | 'failing';
  uptimeSeconds: number;
  database: 'ok' | 'failing';
  /** Absent: the key may not read accounts. */
  accounts?: ReadonlyArray<{ accountId: string; state: string; nextAction: string; node?: string }>;
}

interface Ready {
  status: 'ready' | 'not-ready';
  reasons: ReadonlyArray<{ name: string; message: string }>;
  node: string;
}

/** `wa2ai status`: whether the service runs, its accounts, and what a person should do. */
export function addStatus(parent: Command, cli: Cli): void {
  parent
    .command('status')
    .description('show whether wa2ai runs, its accounts and what to do next')
    .action(async () => {
      const api = await cli.api();
      const accept = [503];
      const [health, ready] = await Promise.all([
        api.call<Health>('GET', '/health', { accept }),
        api.call<Ready>('GET', '/health/ready', { accept }),
      ]);
      if (ready.status !== 'ready') cli.exitCode = EXIT.failed;
      cli.show({ ...health, ready }, () => statusText(cli, api.name, health, ready));
    });
}

function statusText({ colours, host }: Cli, name: string, health: Health, ready: Ready): string {
  const isReady = ready.status === 'ready';
  const { accounts = [] } = health;
  const why = ready.reasons.map(({ name, message }) => {
    const account = accounts.find(({ accountId }) => name === `account:${accountId}`);
    return account ? `Account ${account.accountId} is ${account.state}.` : oneLine(message);
  });
  const parts = [
    fields([
      ['wa2ai', `${colours.state(ready.status, isReady ? 'good' : 'look')}, at ${name}`],
      ['why', why.length > 0 ? why.join(' ') : undefined],
      ['node', ready.node],
      ['running', `for ${durationOf(health.uptimeSeconds)}`],
      ['database', colours.state(health.database, health.database === 'ok' ? 'good' : 'bad')],
    ]),
  ];
  if (accounts.length > 0) {
    const rows = accounts.map(({ accountId, state, nextAction }) => [
      accountId,
      colours.state(state, moodOf(state)),
      oneLine(nextAction),
    ]);
    parts.push(table(['ACCOUNT', 'STATE', 'NEXT'], rows, host.columns));
  }
  return parts.join('\n\n');
}

/** How good a state of a WhatsApp account is. */
function moodOf(state: string): 'good' | 'look' | 'bad' {
  if (state === 'open') return 'good';
  return ['logged-out', 'proxy-failed', 'banned', 'replaced'].includes(state) ? 'bad' : 'look';
}

/** How often the state of the account is read. */
const POLL_MS = 1_000;

/** States that no waiting changes. */
const ENDS = ['replaced', 'stopped'];

interface Account {
  id: string;
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
        await cli.host.sleep(POLL_MS);
      }
    });
}

async function onlyAccount(list: () => Promise<{ data: readonly Account[] }>): Promise<string> {
  const { data } = await list();
  const [first, second] = data;
  if (!first) throw new CliError('There is no WhatsApp account. Add one with "wa2ai accounts add".');
  if (second) {
    const names = data.map(({ id }) => id).join(', ');
    throw new CliError(`There are several accounts. Name one of them: ${names}.`);
  }
  return first.id;
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
