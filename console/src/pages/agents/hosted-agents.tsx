import { useState } from 'preact/hooks';
import type { Schemas } from '../../api/call.ts';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { Button } from '../../components/button.tsx';
import { Badge, Card, type Mood } from '../../components/page.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { AgentActions } from './agent-actions.tsx';
import { useAgentName } from './use-agent-name.ts';

type Agent = Schemas['HostedAgent'];

const MOODS: Record<Agent['state'], Mood> = {
  absent: 'quiet',
  pulling: 'busy',
  creating: 'busy',
  starting: 'busy',
  ready: 'good',
  busy: 'good',
  stopping: 'busy',
  stopped: 'quiet',
  failed: 'bad',
};

/** The state of a hosted agent, and its warning. */
export function AgentState({ agent: { state, isDeleting } }: { agent: Agent }) {
  const text = useTexts('agents');
  return (
    <Badge mood={isDeleting ? 'busy' : MOODS[state]}>{isDeleting ? text.deleting : text.states[state]}</Badge>
  );
}

/** What runs, and the warning about a process. */
export function Runs({ agent: { hosted, isolation } }: { agent: Agent }) {
  const text = useTexts('agents');
  return (
    <span class="badges">
      <code>{hosted.runtime === 'process' ? 'process' : (hosted.image ?? 'docker')}</code>
      {isolation === 'none' && (
        <span title={text.noIsolationHint}>
          <Badge mood="busy">{text.noIsolation}</Badge>
        </span>
      )}
    </span>
  );
}

/** The agents that wa2ai runs, on all nodes. */
export function HostedAgents() {
  const text = useTexts('agents');
  const [cursor, setCursor] = useState<string>();
  const nameOf = useAgentName();
  const agents = useQuery('GET /api/agents', { query: { limit: 100, cursor } }, ['agent']);
  return (
    <Loaded query={agents}>
      {({ data, next }) =>
        data.length === 0 ? (
          <EmptyState icon="agent" title={text.none}>
            <p>{text.noneHint}</p>
          </EmptyState>
        ) : (
          <Card>
            <Table
              caption={text.hosted}
              rows={data}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: text.id,
                  cell: (agent) => (
                    <a href={hrefOf(`/agents/hosted/${encodeURIComponent(agent.id)}`)}>{nameOf(agent)}</a>
                  ),
                },
                { title: text.state, cell: (agent) => <AgentState agent={agent} /> },
                { title: text.runs, cell: (agent) => <Runs agent={agent} /> },
                ...(hasSeveralNodes(data) ? [{ title: text.node, cell: ({ node }: Agent) => node }] : []),
                { title: text.activity, cell: ({ lastActivityAt }) => <Time at={lastActivityAt} /> },
                {
                  title: text.actions,
                  isTitleHidden: true,
                  cell: (agent) => <AgentActions agent={agent} reload={agents.reload} />,
                },
              ]}
            />
            {next !== undefined && (
              <div class="actions end">
                <Button onClick={() => setCursor(next)}>{text.more}</Button>
              </div>
            )}
          </Card>
        )
      }
    </Loaded>
  );
}

/** What all agents have in common says nothing about one. */
function hasSeveralNodes(agents: readonly Agent[]): boolean {
  return new Set(agents.map(({ node }) => node)).size > 1;
}
