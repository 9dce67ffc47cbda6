import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { Badge, Card, type Mood } from '../../components/page.tsx';
import { Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';

const MOODS: Record<'alive' | 'draining' | 'gone', Mood> = { alive: 'good', draining: 'busy', gone: 'bad' };

/** The nodes on this database, and what each does. */
export function Nodes() {
  const text = useTexts('settings');
  const nodes = useQuery('GET /api/nodes', {}, ['account']);
  return (
    <Loaded query={nodes}>
      {({ data }) => (
        <Card>
          <Table
            caption={text.tabs.nodes}
            rows={data}
            keyOf={({ nodeId }) => nodeId}
            columns={[
              {
                title: text.node,
                cell: ({ nodeId, isSelf }) => (isSelf ? `${nodeId} (${text.self})` : nodeId),
              },
              {
                title: text.state,
                cell: ({ state }) => <Badge mood={MOODS[state]}>{text.states[state]}</Badge>,
              },
              { title: text.host, cell: ({ host }) => host },
              { title: text.version, cell: ({ version }) => version },
              { title: text.accounts, cell: ({ accounts }) => accounts.join(', ') || '–' },
              { title: text.turns, isNumber: true, cell: ({ turns }) => turns },
              { title: text.seen, cell: ({ seenAt }) => <Time at={seenAt} /> },
            ]}
          />
        </Card>
      )}
    </Loaded>
  );
}
