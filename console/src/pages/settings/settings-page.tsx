import { useState } from 'preact/hooks';
import type { Schemas } from '../../api/call.ts';
import { useQuery } from '../../api/use-query.ts';
import { texts } from '../../app/language.ts';
import { TextField } from '../../components/form.tsx';
import { Badge, Card, PageFrame } from '../../components/page.tsx';
import { Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';

const useText = texts(
  {
    title: 'Settings',
    lead: 'Every setting of this node, the value in force, and where it comes from.',
    find: 'Find a setting',
    name: 'Setting',
    value: 'Value',
    origin: 'Origin',
    secret: 'secret, set',
    origins: {
      environment: 'environment',
      'env-file': '.env file',
      'secret-file': 'secret file',
      default: 'default',
    },
  },
  {
    title: 'Ajustes',
    lead: 'Todos los ajustes de este nodo, el valor vigente y de dónde viene.',
    find: 'Buscar un ajuste',
    name: 'Ajuste',
    value: 'Valor',
    origin: 'Origen',
    secret: 'secreto, definido',
    origins: {
      environment: 'entorno',
      'env-file': 'archivo .env',
      'secret-file': 'archivo secreto',
      default: 'por defecto',
    },
  },
);

/** Every setting with its meaning, value and origin. */
export function SettingsPage() {
  const text = useText();
  const settings = useQuery('GET /api/settings', {}, ['setting']);
  const [wanted, setWanted] = useState('');
  const fits = ({ name, meaning }: Schemas['Setting']) =>
    `${name} ${meaning}`.toLowerCase().includes(wanted.toLowerCase());
  return (
    <PageFrame title={text.title} lead={text.lead}>
      <TextField type="search" label={text.find} value={wanted} onInput={setWanted} />
      <Loaded query={settings}>
        {({ data }) => (
          <Card>
            <Table
              caption={text.title}
              rows={data.filter(fits)}
              keyOf={({ name }) => name}
              columns={[
                {
                  title: text.name,
                  cell: ({ name, meaning }) => (
                    <div>
                      <code>{name}</code>
                      <p class="faint">{meaning}</p>
                    </div>
                  ),
                },
                {
                  title: text.value,
                  cell: ({ value, isSecret, isSet }) => (isSecret && isSet ? text.secret : (value ?? '–')),
                },
                {
                  title: text.origin,
                  cell: ({ origin }) => (
                    <Badge mood={origin === 'default' ? 'quiet' : 'good'}>{text.origins[origin]}</Badge>
                  ),
                },
              ]}
            />
          </Card>
        )}
      </Loaded>
    </PageFrame>
  );
}
