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

/** One hosted agent: how it runs, its log, its files. */
export function HostedAgent({ id }: { id: string }) {
  const text = useTexts('agents');
  const agent = useQuery('GET /api/agents/{id}', { path: { id } }, ({ type, id: changed }) => {
    return type === 'agent' && (changed === undefined || changed === id);
  });
  const found = agent.data?.data;
  const leave = () => navigate('/agents/hosted');
  if (agent.problem?.status === 404) {
    return (
      <PageFrame title={id}>
        <EmptyState icon="agent" title={text.gone}>
          <a href={hrefOf('/agents/hosted')}>{text.back}</a>
        </EmptyState>
      </PageFrame>
    );
  }
  return (
    <PageFrame
      title={id}
      actions={found && <AgentActions agent={found} reload={agent.reload} onRemoved={leave} />}
    >
      <p>
        <a href={hrefOf('/agents/hosted')}>{text.back}</a>
      </p>
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
  const { hosted, problem, phrase, routeId } = agent;
  const { memoryMb, cpus, command, env } = hosted;
  const facts = [
    [text.state, <AgentState key="state" agent={agent} />],
    [text.problem, problem && <ServiceText key="problem" text={problem} phrase={phrase} />],
    [text.runs, <Runs key="runs" agent={agent} />],
    [text.command, command && <code key="command">{command.join(' ')}</code>],
    [text.profile, hosted.profile],
    [text.limits, hosted.runtime === 'docker' && text.limitsOf(String(memoryMb), String(cpus))],
    [text.idle, text.minutes(String(hosted.idleMinutes))],
    [text.variables, Object.keys(env).join(', ')],
    [text.node, agent.node],
    [text.account, agent.accountId],
    [
      text.route,
      routeId !== undefined && (
        <a key="route" href={hrefOf('/routes')}>
          {routeId}
        </a>
      ),
    ],
    [text.activity, <Time key="activity" at={agent.lastActivityAt} />],
    [text.created, <Time key="created" at={agent.createdAt} />],
  ] as const;
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value)
        .map(([name, value]) => [<dt key={`${name}-name`}>{name}</dt>, <dd key={name}>{value}</dd>])}
    </dl>
  );
}
