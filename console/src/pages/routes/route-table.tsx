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
              <span>
                <a href={hrefOf(`/routes/${route.id}`)}>{titleOf(route)}</a>{' '}
                {route.regexFilter && <code>{route.regexFilter}</code>}
                <span class="faint where">
                  {[
                    route.channelId === '*' ? text.everyChat : route.channelId,
                    route.accountId,
                    route.environment,
                  ].join(' · ')}
                </span>
              </span>
            ),
          },
          {
            title: text.agent,
            cell: (route) => (
              <span>
                {Object.keys(route.config)[0]} <code>{route.agentEndpoint}</code>
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
            cell: (route) => <RouteActions route={route} reload={reload} />,
          },
        ]}
      />
    </div>
  );
}

function MoveButtons(props: {
  route: Route;
  canRaise: boolean;
  canLower: boolean;
  onStep: (by: -1 | 1) => void;
  onDrag: (event: PointerEvent) => void;
}) {
  const text = useTexts('routes');
  const { route, canRaise, canLower, onStep, onDrag } = props;
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
