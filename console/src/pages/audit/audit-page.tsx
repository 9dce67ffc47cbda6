import { useState } from 'preact/hooks';
import { useQuery } from '../../api/use-query.ts';
import { texts } from '../../app/language.ts';
import { TextField } from '../../components/form.tsx';
import { Badge, Card, PageFrame } from '../../components/page.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';

const useText = texts(
  {
    title: 'Audit log',
    lead: 'Who called what. The last 100 entries.',
    object: 'Only this object',
    none: 'No entry fits',
    at: 'When',
    caller: 'Caller',
    action: 'Action',
    about: 'Object',
    outcome: 'Outcome',
  },
  {
    title: 'Auditoría',
    lead: 'Quién llamó a qué. Las últimas 100 entradas.',
    object: 'Solo este objeto',
    none: 'Ninguna entrada coincide',
    at: 'Cuándo',
    caller: 'Quién',
    action: 'Acción',
    about: 'Objeto',
    outcome: 'Resultado',
  },
);

/** The audit log, newest first. */
export function AuditPage() {
  const text = useText();
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
