import { useState } from 'preact/hooks';
import type { Schemas } from '../../api/call.ts';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { TextField } from '../../components/form.tsx';
import { Badge, Card } from '../../components/page.tsx';
import { Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { quoted } from '../../schema-form/field-texts.ts';

/** Groups of variables that few installations need. */
const FOLDED: ReadonlySet<string> = new Set(['Advanced', 'Tests']);

/** The variables that this node was started with. `wanted`: what is looked for at first. */
export function Environment(props: { wanted: string }) {
  const text = useTexts('settings');
  const settings = useQuery('GET /api/settings');
  const service = useTexts('service');
  const meaningOf = ({ name, meaning }: Schemas['Setting']) => service?.settings[name] ?? meaning;
  const [wanted, setWanted] = useState(props.wanted);
  const fits = (setting: Schemas['Setting']) =>
    `${setting.name} ${meaningOf(setting)}`.toLowerCase().includes(wanted.toLowerCase());
  return (
    <>
      <TextField type="search" label={text.find} value={wanted} onInput={setWanted} />
      <Loaded query={settings}>
        {({ data }) => {
          const found = data.filter(fits);
          const advanced = found.filter(({ group }) => FOLDED.has(group));
          return (
            <>
              <Settings rows={found.filter(({ group }) => !FOLDED.has(group))} meaningOf={meaningOf} />
              {advanced.length > 0 && (
                // Opens by itself for what was searched.
                <details key={wanted === '' ? 'all' : 'found'} open={wanted !== ''}>
                  <summary>{text.advanced}</summary>
                  <Settings rows={advanced} meaningOf={meaningOf} />
                </details>
              )}
            </>
          );
        }}
      </Loaded>
    </>
  );
}

interface SettingsProps {
  rows: ReadonlyArray<Schemas['Setting']>;
  meaningOf(setting: Schemas['Setting']): string;
}

function Settings({ rows, meaningOf }: SettingsProps) {
  const text = useTexts('settings');
  return (
    <Card>
      <Table
        caption={text.title}
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          {
            title: text.name,
            cell: (setting) => (
              <div>
                <code>{setting.name}</code>
                <p class="faint meaning">{quoted(meaningOf(setting))}</p>
              </div>
            ),
          },
          {
            title: text.value,
            cell: ({ value, default: otherwise, isSecret, isSet }) =>
              isSecret && isSet ? text.secret : (value ?? otherwise ?? text.noValue),
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
  );
}
