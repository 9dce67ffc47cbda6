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
        <p>{text.nextActions[account.state]}</p>
        <Facts account={account} />
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
        <Allowed scope="accounts:manage">
          <ProxyForm account={account} reload={reload} />
        </Allowed>
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

function Facts({ account }: { account: Account }) {
  const text = useTexts('accounts');
  const facts = [
    [text.number, account.phone && `+${account.phone}${account.name ? ` (${account.name})` : ''}`],
    [text.since, <Time key="since" at={account.since} />],
    [text.why, account.reason && <ServiceText key="why" text={account.reason} phrase={account.phrase} />],
    [text.retry, account.retryAt && <Time key="retry" at={account.retryAt} />],
    [
      text.version,
      account.clientVersion &&
        text.versionOf(
          account.clientVersion.version,
          account.clientVersion.source,
          account.clientVersion.ageDays,
        ),
    ],
    [
      text.refusedSince,
      account.clientVersion?.refusedSince && <Time key="refused" at={account.clientVersion.refusedSince} />,
    ],
    [text.proxy.title, account.proxy?.url],
    [text.node, account.node],
  ] as const;
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value)
        .map(([name, value]) => [<dt key={`${name}-name`}>{name}</dt>, <dd key={name}>{value}</dd>])}
    </dl>
  );
}
