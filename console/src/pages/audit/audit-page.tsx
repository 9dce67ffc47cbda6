import { useState } from 'preact/hooks';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { TextField } from '../../components/form.tsx';
import { Badge, Card, PageFrame } from '../../components/page.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';

/** The audit log, newest first. */
export function AuditPage() {
  const text = useTexts('audit');
  const [object, setObject] = useState('');
  const entries = useQuery('GET /api/audit', { query: { limit: 100, object } }, ['key', 'route', 'account']);
  return (
    <PageFrame title={text.title} lead={text.lead}>
      <TextField type="search" label={text.object} value={object} onInput={setObject} />
      <Loaded query={entries}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState icon="list" title={text.none} />
          ) : (
            <Card>
              <Table
                caption={text.title}
                rows={data}
                keyOf={({ seq }) => seq}
                columns={[
                  { title: text.at, cell: ({ at }) => <Time at={at} /> },
                  { title: text.caller, cell: ({ caller }) => caller },
                  { title: text.action, cell: ({ face, action }) => `${face} ${action}` },
                  { title: text.about, cell: ({ object: id }) => id ?? '–' },
                  {
                    title: text.outcome,
                    cell: ({ outcome }) => <Badge mood={outcome === 'ok' ? 'good' : 'bad'}>{outcome}</Badge>,
                  },
                ]}
              />
            </Card>
          )
        }
      </Loaded>
    </PageFrame>
  );
}
