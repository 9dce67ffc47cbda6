import type { ComponentChildren } from 'preact';
import type { Schemas } from '../../api/call.ts';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { hrefOf, navigate } from '../../app/location.ts';
import { Card, PageFrame } from '../../components/page.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { ServiceText } from '../../translation/service-text.tsx';
import { AgentActions } from './agent-actions.tsx';
import { AgentFiles } from './agent-files.tsx';
import { AgentLog } from './agent-log.tsx';
import { AgentState, Runs } from './hosted-agents.tsx';
import { useAgentName } from './use-agent-name.ts';

/** One hosted agent: how it runs, its log, its files. */
export function HostedAgent({ id }: { id: string }) {
  const text = useTexts('agents');
  const agent = useQuery('GET /api/agents/{id}', { path: { id } }, ({ type, id: changed }) => {
    return type === 'agent' && (changed === undefined || changed === id);
  });
  const found = agent.data?.data;
  const nameOf = useAgentName();
  const back = { href: hrefOf('/agents/hosted'), title: text.back };
  const leave = () => navigate('/agents/hosted');
  if (agent.problem?.status === 404) {
    return (
      <PageFrame title={id} back={back}>
        <EmptyState icon="agent" title={text.gone} />
      </PageFrame>
    );
  }
  return (
    <PageFrame
      title={found ? nameOf(found) : id}
      back={back}
      actions={found && <AgentActions agent={found} reload={agent.reload} onRemoved={leave} />}
    >
      <Loaded query={agent}>
        {({ data }) => (
          <Card>
            <Facts agent={data} />
          </Card>
        )}
      </Loaded>
      {found && <AgentLog id={id} agentState={found.state === 'busy' ? 'ready' : found.state} />}
      <AgentFiles id={id} />
    </PageFrame>
  );
}

function Facts({ agent }: { agent: Schemas['HostedAgent'] }) {
  const text = useTexts('agents');
  const { id, hosted, problem, phrase, routeId, routeName } = agent;
  const { memoryMb, cpus, command, env } = hosted;
  const facts = [
    [text.state, <AgentState key="state" agent={agent} />],
    [text.problem, problem && <ServiceText key="problem" text={problem} phrase={phrase} />],
    [text.runs, <Runs key="runs" agent={agent} />],
    [
      text.route,
      routeId !== undefined && (
        <a key="route" href={hrefOf(`/routes/${routeId}`)}>
          {routeName ?? routeId}
        </a>
      ),
    ],
    [text.activity, <Time key="activity" at={agent.lastActivityAt} />],
    [text.idle, text.minutes(String(hosted.idleMinutes))],
  ] as const;
  const more = [
    [text.command, command && <code key="command">{command.join(' ')}</code>],
    [text.profile, hosted.profile],
    [text.limits, hosted.runtime === 'docker' && text.limitsOf(String(memoryMb), String(cpus))],
    [text.variables, Object.keys(env).join(', ')],
    [text.created, <Time key="created" at={agent.createdAt} />],
    [text.account, agent.accountId],
    [text.node, agent.node],
    [text.agentId, <code key="id">{id}</code>],
  ] as const;
  return (
    <div class="stack">
      <FactList facts={facts} />
      <details>
        <summary>{text.details}</summary>
        <FactList facts={more} />
      </details>
    </div>
  );
}

/** Names with their values; those without a value are left out. */
function FactList({ facts }: { facts: ReadonlyArray<readonly [string, ComponentChildren]> }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value)
        .map(([name, value]) => [<dt key={`${name}-name`}>{name}</dt>, <dd key={name}>{value}</dd>])}
    </dl>
  );
}
