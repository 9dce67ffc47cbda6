import { useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useQuery } from '../../api/use-query.ts';
import { Allowed } from '../../app/caller.tsx';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Badge, Card, PageFrame } from '../../components/page.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { AddRoute } from './add-route.tsx';
import { DryRun } from './dry-run.tsx';
import { useText } from './texts.ts';

type Route = Schemas['Route'];

/** The route table, with a dry run of a message. */
export function RoutesPage() {
  const text = useText();
  const routes = useQuery('GET /api/routes', {}, ['route']);
  const [isAdding, setAdding] = useState(false);
  return (
    <PageFrame
      title={text.title}
      lead={text.lead}
      actions={
        <Button kind="main" icon="plus" scope="routes:write" onClick={() => setAdding(true)}>
          {text.add}
        </Button>
      }
    >
      <Loaded query={routes}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState icon="route" title={text.none}>
              <p>{text.noneHint}</p>
            </EmptyState>
          ) : (
            <Card>
              <RouteTable routes={data} reload={routes.reload} />
            </Card>
          )
        }
      </Loaded>
      <DryRun />
      {isAdding && <AddRoute onClose={() => setAdding(false)} reload={routes.reload} />}
    </PageFrame>
  );
}

function RouteTable({ routes, reload }: { routes: Route[]; reload: () => void }) {
  const text = useText();
  const agentOf = ({ config }: Route) => Object.keys(config)[0] ?? '';
  return (
    <Table
      caption={text.title}
      rows={routes}
      keyOf={({ id }) => id}
      columns={[
        {
          title: text.chat,
          cell: (route) => (
            <span>
              {route.name && <strong>{route.name} </strong>}
              {route.channelId === '*' ? text.everyChat : route.channelId}
            </span>
          ),
        },
        {
          title: text.agent,
          cell: (route) => (
            <span>
              {agentOf(route)} <code>{route.agentEndpoint}</code>
            </span>
          ),
        },
        { title: text.priority, isNumber: true, cell: ({ priority }) => priority },
        {
          title: text.state,
          cell: ({ enabled }) => (
            <Badge mood={enabled ? 'good' : 'quiet'}>{enabled ? text.on : text.off}</Badge>
          ),
        },
        {
          title: text.actions,
          isTitleHidden: true,
          cell: (route) => (
            <Allowed scope="routes:write">
              <RouteActions route={route} reload={reload} />
            </Allowed>
          ),
        },
      ]}
    />
  );
}

function RouteActions({ route, reload }: { route: Route; reload: () => void }) {
  const text = useText();
  const [isAsked, setAsked] = useState(false);
  const path = { id: route.id };
  const change = useAction(async (body: Schemas['RoutePatch']) => {
    await call('PATCH /api/routes/{id}', { path, body });
    reload();
  });
  const remove = useAction(async () => {
    await call('DELETE /api/routes/{id}', { path });
    reload();
  }, text.removed);
  const move = (step: number) => void change.run({ priority: route.priority + step });
  return (
    <div class="actions">
      <Button icon="up" label={text.raise} isDisabled={change.isRunning} onClick={() => move(1)} />
      <Button icon="down" label={text.lower} isDisabled={change.isRunning} onClick={() => move(-1)} />
      <Button isDisabled={change.isRunning} onClick={() => void change.run({ enabled: !route.enabled })}>
        {route.enabled ? text.switchOff : text.switchOn}
      </Button>
      <Button kind="danger" onClick={() => setAsked(true)}>
        {text.remove}
      </Button>
      {isAsked && (
        <ConfirmDialog
          title={`${text.remove}: ${route.name ?? route.channelId}`}
          action={text.remove}
          confirm={() => remove.run()}
          onClose={() => setAsked(false)}
        >
          <p>{text.removeAsk}</p>
        </ConfirmDialog>
      )}
    </div>
  );
}
