import { useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx';
import { Menu } from '../../components/menu.tsx';
import { Card, PageFrame } from '../../components/page.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { RouteChanges } from './route-changes.tsx';

type Version = Schemas['RouteVersion'];

/** The versions of the route table: what each changed, and rollback. */
export function RouteVersions({ before }: { before: string | undefined }) {
  const text = useTexts('routes');
  const { callers }: { callers: Readonly<Record<string, string>> } = useTexts('audit');
  const query = before === undefined ? {} : { cursor: before };
  const versions = useQuery('GET /api/routes/history', { query }, ['route']);
  const [shown, setShown] = useState<number>();
  const [restored, setRestored] = useState<number>();
  return (
    <PageFrame
      title={text.versions}
      lead={text.versionsLead}
      back={{ href: hrefOf('/routes'), title: text.allRoutes }}
    >
      <Loaded query={versions}>
        {({ data, next }) =>
          data.length === 0 ? (
            <EmptyState icon="list" title={text.noVersions} />
          ) : (
            <Card>
              <Table
                caption={text.versions}
                rows={data}
                keyOf={({ version }) => String(version)}
                columns={[
                  { title: text.version, cell: ({ version }) => version },
                  { title: text.when, cell: ({ at }) => <Time at={at} /> },
                  { title: text.action, cell: (version) => <Action version={version} /> },
                  { title: text.caller, cell: ({ caller = '' }) => callers[caller] ?? caller },
                  {
                    title: text.actions,
                    isTitleHidden: true,
                    cell: ({ version }) => (
                      <Menu
                        of={`${text.version} ${version}`}
                        items={[
                          { title: text.showChanges, onChoose: () => setShown(version) },
                          {
                            title: text.restore,
                            scope: 'routes:write',
                            onChoose: () => setRestored(version),
                          },
                        ]}
                      />
                    ),
                  },
                ]}
              />
              {next && (
                <div class="actions end">
                  <a class="button" href={hrefOf('/routes/versions', { before: next })}>
                    {text.older}
                  </a>
                </div>
              )}
            </Card>
          )
        }
      </Loaded>
      {shown !== undefined && <VersionChanges version={shown} onClose={() => setShown(undefined)} />}
      {restored !== undefined && <Restore version={restored} onClose={() => setRestored(undefined)} />}
    </PageFrame>
  );
}

function Action({ version: { action, restored, created, changed, deleted, routes } }: { version: Version }) {
  const text = useTexts('routes');
  const names = routes
    .map(({ name, channelId }) => name ?? (channelId === '*' ? text.everyChat : channelId))
    .join(', ');
  const count = created + changed + deleted;
  return (
    <span>
      {text.actionsOf[action]}
      {restored !== undefined && ` ${restored}`}: {names}
      {count > routes.length && ` +${count - routes.length}`}
    </span>
  );
}

function VersionChanges({ version, onClose }: { version: number; onClose: () => void }) {
  const text = useTexts('routes');
  const found = useQuery('GET /api/routes/history/{version}', { path: { version: String(version) } });
  return (
    <Dialog title={`${text.version} ${version}`} isWide onClose={onClose}>
      <Loaded query={found}>{({ data }) => <RouteChanges changes={data.changes} />}</Loaded>
    </Dialog>
  );
}

function Restore({ version, onClose }: { version: number; onClose: () => void }) {
  const text = useTexts('routes');
  const plan = useQuery('POST /api/routes/rollback', { body: { version }, query: { dryRun: 'true' } });
  const restore = useAction(async () => {
    // The table that the person has seen in the plan.
    const expectedVersion = plan.data?.data.version;
    const body = { version, ...(expectedVersion !== undefined && { expectedVersion }) };
    await call('POST /api/routes/rollback', { body });
  }, text.restored);
  return (
    <ConfirmDialog
      isWide
      title={`${text.restore}: ${text.version} ${version}`}
      action={text.restore}
      confirm={() => restore.run()}
      onClose={onClose}
    >
      <p>{text.restoreAsk}</p>
      <Loaded query={plan}>{({ data }) => <RouteChanges changes={data.changes} />}</Loaded>
    </ConfirmDialog>
  );
}
