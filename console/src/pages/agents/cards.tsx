import type { Schemas } from '../../api/call.ts';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { Badge, Card } from '../../components/page.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { ServiceText } from '../../translation/service-text.tsx';

type Route = Schemas['Route'];

/** The kinds whose agents have cards. */
const KINDS = ['npc', 'a2a'] as const;

function kindOf({ config }: Route): (typeof KINDS)[number] | undefined {
  return KINDS.find((kind) => kind in config);
}

/** The cards of the agents behind the routes. */
export function Cards() {
  const text = useTexts('agents');
  const routes = useQuery('GET /api/routes', {}, ['route']);
  return (
    <Loaded query={routes}>
      {({ data }) => {
        const withCards = data.filter((route) => kindOf(route) !== undefined);
        return withCards.length === 0 ? (
          <EmptyState icon="agent" title={text.cardsNone}>
            <p>{text.cardsNoneHint}</p>
          </EmptyState>
        ) : (
          <div class="grid">
            {withCards.map((route) => (
              <AgentCard key={route.id} route={route} />
            ))}
          </div>
        );
      }}
    </Loaded>
  );
}

function AgentCard({ route }: { route: Route }) {
  const text = useTexts('agents');
  const { kinds } = useTexts('routes');
  const kind = kindOf(route);
  const chat = route.name ?? (route.channelId === '*' ? text.everyChat : route.channelId);
  const answer = useQuery('GET /api/routes/{id}/card', { path: { id: route.id } }, ['route']);
  const name = answer.data?.data.card?.name ?? route.agentEndpoint;
  return (
    <Card title={name} actions={kind && <Badge mood="quiet">{kinds[kind]}</Badge>}>
      <div class="stack">
        <p class="faint">
          {text.route}: {chat}
        </p>
        <Loaded query={answer}>
          {({ data: { card, problem = '', phrase } }) =>
            card ? (
              <Facts card={card} />
            ) : (
              <div class="notice busy">
                <strong>{text.cardProblem}</strong>
                <p>
                  <ServiceText text={problem} phrase={phrase} />
                </p>
              </div>
            )
          }
        </Loaded>
      </div>
    </Card>
  );
}

function Facts({ card }: { card: NonNullable<Schemas['RouteCard']['card']> }) {
  const text = useTexts('agents');
  const { version, provider, interfaces, capabilities, authentication, skills } = card;
  const facts = [
    [text.version, version],
    [text.provider, provider],
    [text.interfaces, interfaces.join(', ')],
    [text.capabilities, capabilities.length > 0 && <Names key="capabilities" names={capabilities} />],
    [text.authentication, authentication.join(', ') || text.noAuthentication],
    [text.source, <code key="url">{card.url}</code>],
  ] as const;
  return (
    <div class="stack">
      {card.description && <p>{card.description}</p>}
      <dl class="facts">
        {facts
          .filter(([, value]) => value)
          .map(([name, value]) => [<dt key={`${name}-name`}>{name}</dt>, <dd key={name}>{value}</dd>])}
      </dl>
      {skills.length > 0 && (
        <details>
          <summary>
            {text.skills} ({skills.length})
          </summary>
          <ul class="plain-list stack">
            {skills.map(({ name, description }) => (
              <li key={name}>
                <strong>{name}</strong>
                <p class="faint">{description}</p>
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function Names({ names }: { names: readonly string[] }) {
  return (
    <span class="badges">
      {names.map((name) => (
        <Badge key={name} mood="quiet">
          {name}
        </Badge>
      ))}
    </span>
  );
}
