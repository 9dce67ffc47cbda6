import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { Allowed } from '../../app/caller.tsx';
import { useTexts } from '../../app/language.ts';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Menu } from '../../components/menu.tsx';
import { Badge, Card } from '../../components/page.tsx';
import { Time } from '../../components/time.tsx';
import { ServiceText } from '../../translation/service-text.tsx';
import { moodOf } from './account-moods.ts';
import { History } from './history.tsx';
import { Limits } from './limits.tsx';
import { Pairing } from './pairing.tsx';
import { Passkey } from './passkey.tsx';
import { ProxyForm } from './proxy.tsx';

type Account = Schemas['Account'];

/** One account with everything that can be done with it in its state. */
export function AccountCard({ account, reload }: { account: Account; reload: () => void }) {
  const text = useTexts('accounts');
  const [asked, setAsked] = useState<'logout' | 'delete'>();
  const path = { id: account.id };
  const restart = useAction(async () => {
    await call('POST /api/accounts/{id}/restart', { path });
    reload();
  }, text.restarted);
  const logOut = useAction(async () => {
    await call('POST /api/accounts/{id}/logout', { path });
    reload();
  }, text.loggedOut);
  const remove = useAction(async () => {
    await call('DELETE /api/accounts/{id}', { path });
    reload();
  }, text.removed);
  return (
    <Card
      title={account.id}
      actions={
        <>
          <Badge mood={moodOf(account.state)}>{text.states[account.state]}</Badge>
          <Menu
            of={account.id}
            items={[
              {
                title: text.restart,
                scope: 'accounts:manage',
                isDisabled: restart.isRunning,
                onChoose: () => void restart.run(),
              },
              account.state === 'open' && {
                title: text.logOut,
                isDanger: true,
                scope: 'accounts:manage',
                onChoose: () => setAsked('logout'),
              },
              {
                title: text.remove,
                isDanger: true,
                scope: 'accounts:manage',
                onChoose: () => setAsked('delete'),
              },
            ]}
          />
        </>
      }
    >
      <div class="stack">
        {/* Beside a code stands how to use it. */}
        {account.qr === undefined && account.pairingCode === undefined && (
          <p>{text.nextActions[account.state]}</p>
        )}
        <Facts
          of={[
            [text.number, account.phone && `+${account.phone}${account.name ? ` (${account.name})` : ''}`],
            [text.since, <Time key="since" at={account.since} />],
            [
              text.why,
              account.reason && <ServiceText key="why" text={account.reason} phrase={account.phrase} />,
            ],
            [text.retry, account.retryAt && <Time key="retry" at={account.retryAt} />],
          ]}
        />
        {account.problems && account.problems.length > 0 && (
          <div class="notice busy">
            <strong>{text.problems}</strong>
            {account.problems.map((problem, index) => (
              <p key={problem}>
                <ServiceText text={problem} phrase={account.problemPhrases?.[index] ?? undefined} />
              </p>
            ))}
          </div>
        )}
        <Allowed scope="accounts:manage">
          {account.state !== 'open' && account.state !== 'restricted' && (
            <Linking account={account} reload={reload} />
          )}
        </Allowed>
        <Limits account={account} />
        <Connection account={account} reload={reload} />
        <History accountId={account.id} />
      </div>
      {asked && (
        <ConfirmDialog
          title={`${asked === 'logout' ? text.logOut : text.remove}: ${account.id}`}
          action={asked === 'logout' ? text.logOut : text.remove}
          confirm={() => (asked === 'logout' ? logOut.run() : remove.run())}
          onClose={() => setAsked(undefined)}
        >
          <p>{asked === 'logout' ? text.logOutAsk : text.removeAsk}</p>
        </ConfirmDialog>
      )}
    </Card>
  );
}

function Linking({ account, reload }: { account: Account; reload: () => void }) {
  const { passkey } = account;
  return passkey ? (
    <Passkey account={account} passkey={passkey} reload={reload} />
  ) : (
    <Pairing account={account} reload={reload} />
  );
}

/** How an account is connected: the version of its client, its node, its proxy. */
function Connection({ account, reload }: { account: Account; reload: () => void }) {
  const text = useTexts('accounts');
  const { clientVersion, node, proxy, state } = account;
  return (
    <details open={state === 'proxy-failed' || state === 'outdated'}>
      <summary>{text.connection}</summary>
      <Facts
        of={[
          [
            text.version,
            clientVersion &&
              text.versionOf(clientVersion.version, clientVersion.source, clientVersion.ageDays),
          ],
          [
            text.refusedSince,
            clientVersion?.refusedSince && <Time key="refused" at={clientVersion.refusedSince} />,
          ],
          [text.proxy.url, proxy?.url],
          [text.node, node],
        ]}
      />
      <Allowed scope="accounts:manage">
        <ProxyForm account={account} reload={reload} />
      </Allowed>
    </details>
  );
}

/** Names and values; those without a value are left out. */
function Facts({ of }: { of: ReadonlyArray<readonly [string, ComponentChildren]> }) {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value)
        .map(([name, value]) => [<dt key={`${name}-name`}>{name}</dt>, <dd key={name}>{value}</dd>])}
    </dl>
  );
}
