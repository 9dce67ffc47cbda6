import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useMay } from '../../app/caller.tsx';
import { useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { Icon } from '../../components/icon.tsx';
import { Menu } from '../../components/menu.tsx';
import { Badge } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { RemoveRoute } from './remove-route.tsx';
import { AgentHealth, DayCounts, useActivity } from './route-activity.tsx';
import { RouteConditions } from './route-conditions.tsx';
import { inRouteOrder, neighbourOf, orderAfterMove } from './route-order.ts';
import { type Drag, useDragOrder } from './use-drag-order.ts';

type Route = Schemas['Route'];

/** The routes in the order in which they are checked. A person drags them, or moves them with the keyboard. */
export function RouteTable({ routes, reload }: { routes: readonly Route[]; reload: () => void }) {
  const text = useTexts('routes');
  // The order that was asked for, until the service shows it.
  const [wanted, setWanted] = useState<readonly string[]>();
  useEffect(() => setWanted(undefined), [routes]);
  const [said, setSaid] = useState('');
  const activity = useActivity();
  // What all routes have in common says nothing about one.
  const hasSeveral = (field: 'accountId' | 'environment') =>
    new Set(routes.map((each) => each[field])).size > 1;
  const shown = withOrder(inRouteOrder(routes), wanted);
  const order = useAction(async (ids: string[]) => {
    setWanted(ids);
    try {
      await call('PUT /api/routes/order', { body: { ids } });
    } catch (error) {
      setWanted(undefined);
      throw error;
    }
    reload();
  });
  // A row that moves in the document loses the focus.
  const focused = useRef<Element>(null);
  useLayoutEffect(() => {
    if (document.activeElement === document.body) (focused.current as HTMLElement | null)?.focus();
    focused.current = null;
  });
  const move = (id: string, to: string | undefined) => {
    focused.current = document.activeElement;
    const ids = to === undefined ? undefined : orderAfterMove(shown, id, to);
    const route = shown.find((each) => each.id === id);
    if (!ids || !route) return setSaid(text.staysThere);
    setSaid(
      text.moved
        .replace('{name}', titleOf(route))
        .replace('{place}', String(ids.indexOf(id) + 1))
        .replace('{count}', String(ids.length)),
    );
    void order.run(ids);
  };
  const { drag, start } = useDragOrder(
    shown.map(({ id }) => id),
    move,
  );
  const step = (id: string, by: -1 | 1) => move(id, neighbourOf(shown, id, by));
  return (
    <div class="route-table">
      <p class="hidden" role="status">
        {said}
      </p>
      <Table
        caption={text.title}
        rows={shown}
        keyOf={({ id }) => id}
        classOf={({ id }) => dragClassOf(id, drag)}
        columns={[
          {
            title: text.order,
            cell: (route) => (
              <Place
                route={route}
                place={shown.indexOf(route) + 1}
                onStep={(by) => step(route.id, by)}
                onDrag={(event) => start(route.id, event)}
              />
            ),
          },
          {
            title: text.route,
            cell: (route) => (
              <div class="route">
                <span>
                  <a class="name" href={hrefOf(`/routes/${route.id}`)}>
                    {titleOf(route)}
                  </a>{' '}
                  {!route.enabled && <Badge mood="quiet">{text.off}</Badge>}
                </span>
                <span class="faint where">
                  {[
                    route.channelId === '*' ? text.everyChat : route.channelId,
                    ...(hasSeveral('accountId') ? [route.accountId] : []),
                    ...(hasSeveral('environment') ? [route.environment] : []),
                  ].join(' · ')}
                </span>
                <RouteConditions route={route} />
              </div>
            ),
          },
          {
            title: text.agent,
            cell: (route) => (
              <div class="route">
                <span>{kindTitleOf(route, text.kinds)}</span>
                {route.agentEndpoint && <code>{route.agentEndpoint}</code>}
                <AgentHealth route={route} activity={activity.get(route.id)} />
              </div>
            ),
          },
          { title: text.day, cell: ({ id }) => <DayCounts activity={activity.get(id)} /> },
          {
            title: text.actions,
            isTitleHidden: true,
            cell: (route) => (
              <RouteActions
                route={route}
                reload={reload}
                canRaise={neighbourOf(shown, route.id, -1) !== undefined}
                canLower={neighbourOf(shown, route.id, 1) !== undefined}
                onStep={(by) => step(route.id, by)}
              />
            ),
          },
        ]}
      />
    </div>
  );
}

/** Where a route is in the order, and the handle that moves it. */
function Place(props: {
  route: Route;
  /** From 1. */
  place: number;
  onStep: (by: -1 | 1) => void;
  onDrag: (event: PointerEvent) => void;
}) {
  const text = useTexts('routes');
  const may = useMay();
  const { route, place, onStep, onDrag } = props;
  return (
    <div class="move">
      <span class="place">{place}</span>
      {may('routes:write') && (
        <button
          type="button"
          class="button quiet only-icon grip"
          aria-label={`${text.drag} ${titleOf(route)}`}
          title={text.dragHint}
          onPointerDown={onDrag}
          onKeyDown={(event) => {
            const by = event.key === 'ArrowUp' ? -1 : event.key === 'ArrowDown' ? 1 : undefined;
            if (by === undefined) return;
            event.preventDefault();
            onStep(by);
          }}
        >
          <Icon name="grip" />
        </button>
      )}
    </div>
  );
}

function RouteActions(props: {
  route: Route;
  reload: () => void;
  canRaise: boolean;
  canLower: boolean;
  onStep: (by: -1 | 1) => void;
}) {
  const { route, reload, canRaise, canLower, onStep } = props;
  const text = useTexts('routes');
  const [isAsked, setAsked] = useState(false);
  const change = useAction(async () => {
    await call('PATCH /api/routes/{id}', { path: { id: route.id }, body: { enabled: !route.enabled } });
    reload();
  });
  const scope = 'routes:write';
  return (
    <>
      <Menu
        of={titleOf(route)}
        items={[
          {
            title: route.enabled ? text.switchOff : text.switchOn,
            scope,
            isDisabled: change.isRunning,
            onChoose: () => void change.run(),
          },
          canRaise && { title: text.raise, scope, onChoose: () => onStep(-1) },
          canLower && { title: text.lower, scope, onChoose: () => onStep(1) },
          { title: text.remove, scope, isDanger: true, onChoose: () => setAsked(true) },
        ]}
      />
      {isAsked && (
        <RemoveRoute route={route} title={titleOf(route)} reload={reload} onClose={() => setAsked(false)} />
      )}
    </>
  );
}

function titleOf({ name, id, channelId }: Route): string {
  return name ?? (channelId === '*' ? id.slice(0, 8) : channelId);
}

/** The agent kind is the first field of its config that is the name of one. */
function kindTitleOf({ config }: Route, titles: Readonly<Record<string, string>>): string {
  const [first = ''] = Object.keys(config);
  const kind = Object.keys(config).find((name) => Object.hasOwn(titles, name)) ?? first;
  return titles[kind] ?? kind;
}

function dragClassOf(id: string, drag: Drag | undefined): string | undefined {
  if (!drag) return undefined;
  if (id === drag.id) return 'dragged';
  return id === drag.over ? `drop-${drag.side}` : undefined;
}

/** The routes with those of `ids` in that order, at the places that these have together. */
function withOrder(routes: readonly Route[], ids: readonly string[] | undefined): Route[] {
  if (!ids) return [...routes];
  const byId = new Map(routes.map((route) => [route.id, route]));
  const next = ids.values();
  return routes.map((route) =>
    ids.includes(route.id) ? (byId.get(next.next().value ?? '') ?? route) : route,
  );
}
