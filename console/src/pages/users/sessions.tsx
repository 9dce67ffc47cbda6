import { useState } from 'preact/hooks';
import { baseUrl } from '../../api/base-url.ts';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Menu } from '../../components/menu.tsx';
import { Badge, Card } from '../../components/page.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { browserName } from './browser-name.ts';

type Session = Schemas['Session'];

/** Browsers that are signed in: one's own, for an owner all. */
export function Sessions() {
  const text = useTexts('users');
  const sessions = useQuery('GET /api/sessions');
  const [asked, setAsked] = useState<Session>();
  const end = useAction(async ({ id, isCurrent }: Session) => {
    await call('DELETE /api/sessions/{id}', { path: { id } });
    if (isCurrent) location.assign(baseUrl);
    else sessions.reload();
  }, text.ended);
  const endOthers = useAction(async () => {
    await call('DELETE /api/sessions');
    sessions.reload();
  }, text.othersEnded);
  const own = sessions.data?.data.find(({ isCurrent }) => isCurrent);
  const others = sessions.data?.data.filter(({ user, isCurrent }) => user === own?.user && !isCurrent) ?? [];
  return (
    <Card
      title={text.sessions}
      actions={
        own?.user !== undefined &&
        others.length > 0 && (
          <Button isBusy={endOthers.isRunning} onClick={() => void endOthers.run()}>
            {text.endOthers}
          </Button>
        )
      }
    >
      <Loaded query={sessions}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState icon="user" title={text.sessionsNone} />
          ) : (
            <Table
              caption={text.sessions}
              rows={data}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: text.who,
                  cell: ({ user, isCurrent }) => (
                    <span>
                      <strong>{user ?? text.adminKey}</strong>{' '}
                      {isCurrent && <Badge mood="good">{text.current}</Badge>}
                    </span>
                  ),
                },
                {
                  title: text.browser,
                  cell: ({ userAgent }) => (
                    <span title={userAgent}>{browserName(userAgent) ?? text.unknownBrowser}</span>
                  ),
                },
                { title: text.address, cell: ({ address }) => address ?? '–' },
                { title: text.lastSeen, cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
                {
                  title: text.actions,
                  isTitleHidden: true,
                  cell: (session) => (
                    <Menu
                      of={session.user ?? text.adminKey}
                      items={[{ title: text.end, isDanger: true, onChoose: () => setAsked(session) }]}
                    />
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {asked && (
        <ConfirmDialog
          title={`${text.end}: ${asked.user ?? text.adminKey}`}
          action={text.end}
          confirm={() => end.run(asked)}
          onClose={() => setAsked(undefined)}
        >
          <p>{text.endAsk}</p>
        </ConfirmDialog>
      )}
    </Card>
  );
}
