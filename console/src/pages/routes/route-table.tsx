import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { Button } from '../../components/button.tsx';
import { Icon } from '../../components/icon.tsx';
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
  const move = (id: string, to: string | undefined) => {
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
              <MoveButtons
                route={route}
                place={shown.indexOf(route) + 1}
                canRaise={neighbourOf(shown, route.id, -1) !== undefined}
                canLower={neighbourOf(shown, route.id, 1) !== undefined}
                onStep={(by) => step(route.id, by)}
                onDrag={(event) => start(route.id, event)}
              />
            ),
          },
          {
            title: text.route,
            cell: (route) => (
              <div class="route">
                <a class="name" href={hrefOf(`/routes/${route.id}`)}>
                  {titleOf(route)}
                </a>
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
            title: text.state,
            cell: ({ enabled }) => (
              <Badge mood={enabled ? 'good' : 'quiet'}>{enabled ? text.on : text.off}</Badge>
            ),
          },
          {
            title: text.actions,
            isTitleHidden: true,
            cell: (route) => <RouteActions route={route} reload={reload} />,
          },
        ]}
      />
    </div>
  );
}

function MoveButtons(props: {
  route: Route;
  /** From 1. */
  place: number;
  canRaise: boolean;
  canLower: boolean;
  onStep: (by: -1 | 1) => void;
  onDrag: (event: PointerEvent) => void;
}) {
  const text = useTexts('routes');
  const { route, place, canRaise, canLower, onStep, onDrag } = props;
  const grip = useRef<HTMLButtonElement>(null);
  const hadFocus = useRef(false);
  // A row that moves in the document loses the focus.
  useLayoutEffect(() => {
    if (hadFocus.current) grip.current?.focus();
    hadFocus.current = false;
  });
  const name = titleOf(route);
  return (
    <div class="move">
      <span class="place">{place}</span>
      <button
        ref={grip}
        type="button"
        class="button quiet only-icon grip"
        aria-label={`${text.drag} ${name}`}
        title={text.dragHint}
        onPointerDown={onDrag}
        onKeyDown={(event) => {
          const by = event.key === 'ArrowUp' ? -1 : event.key === 'ArrowDown' ? 1 : undefined;
          if (by === undefined) return;
          event.preventDefault();
          hadFocus.current = true;
          onStep(by);
        }}
      >
        <Icon name="grip" />
      </button>
      <Button icon="up" label={`${text.raise} ${name}`} isDisabled={!canRaise} onClick={() => onStep(-1)} />
      <Button icon="down" label={`${text.lower} ${name}`} isDisabled={!canLower} onClick={() => onStep(1)} />
    </div>
  );
}

function RouteActions({ route, reload }: { route: Route; reload: () => void }) {
  const text = useTexts('routes');
  const [isAsked, setAsked] = useState(false);
  const change = useAction(async () => {
    await call('PATCH /api/routes/{id}', { path: { id: route.id }, body: { enabled: !route.enabled } });
    reload();
  });
  return (
    <div class="actions">
      <Button isDisabled={change.isRunning} onClick={() => void change.run()}>
        {route.enabled ? text.switchOff : text.switchOn}
      </Button>
      <Button kind="danger" onClick={() => setAsked(true)}>
        {text.remove}
      </Button>
      {isAsked && (
        <RemoveRoute route={route} title={titleOf(route)} reload={reload} onClose={() => setAsked(false)} />
      )}
    </div>
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
