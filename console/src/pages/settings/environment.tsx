import { useState } from 'preact/hooks';
import type { Schemas } from '../../api/call.ts';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { TextField } from '../../components/form.tsx';
import { Badge, Card } from '../../components/page.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { quoted } from '../../schema-form/field-texts.ts';

type Setting = Schemas['Setting'];

/** The variables of this node by group. `wanted`: what is looked for at first. */
export function Environment(props: { wanted: string }) {
  const text = useTexts('settings');
  const settings = useQuery('GET /api/settings', {}, ['setting']);
  const service = useTexts('service');
  const titles: Readonly<Record<string, string>> = text.groups;
  const meaningOf = ({ name, meaning }: Setting) => service?.settings[name] ?? meaning;
  const [wanted, setWanted] = useState(props.wanted);
  const fits = (setting: Setting) =>
    `${setting.name} ${meaningOf(setting)}`.toLowerCase().includes(wanted.toLowerCase());
  return (
    <>
      <TextField type="search" label={text.find} value={wanted} onInput={setWanted} />
      <Loaded query={settings}>
        {({ data }) => {
          // Those for tests of wa2ai are shown where one is set.
          const found = data.filter((each) => fits(each) && (each.group !== 'Tests' || each.isSet));
          const groups = [...new Set(found.map(({ group }) => group))];
          const rowsOf = (group: string) => found.filter((each) => each.group === group);
          return (
            <div class="variables">
              {found.length === 0 && <EmptyState icon="gear" title={text.noneFound} />}
              {groups.map((group) =>
                group === 'Advanced' ? (
                  // Opens by itself for what was searched.
                  <details key={wanted === '' ? 'all' : 'found'} class="card" open={wanted !== ''}>
                    <summary>
                      <h2>{titles[group]}</h2>
                      <p class="faint">{text.advancedHint}</p>
                    </summary>
                    <Settings title={titles[group] ?? group} rows={rowsOf(group)} meaningOf={meaningOf} />
                  </details>
                ) : (
                  <Card key={group} title={titles[group] ?? group}>
                    <Settings title={titles[group] ?? group} rows={rowsOf(group)} meaningOf={meaningOf} />
                  </Card>
                ),
              )}
            </div>
          );
        }}
      </Loaded>
    </>
  );
}

interface SettingsProps {
  title: string;
  rows: readonly Setting[];
  meaningOf(setting: Setting): string;
}

function Settings({ title, rows, meaningOf }: SettingsProps) {
  const text = useTexts('settings');
  return (
    <Table
      caption={title}
      rows={rows}
      keyOf={({ name }) => name}
      columns={[
        {
          title: text.name,
          isTitleHidden: true,
          cell: (setting) => (
            <div>
              <code>{setting.name}</code>
              <p class="faint meaning">{quoted(meaningOf(setting))}</p>
            </div>
          ),
        },
        {
          title: text.value,
          cell: ({ value, isSecret, isSet, isChangeable }) => (
            <div>
              {value !== undefined ? <code>{value}</code> : isSecret && isSet ? text.secret : text.noValue}
              {isChangeable && (
                <p>
                  <a href={hrefOf('/settings/service')}>{text.changeHere}</a>
                </p>
              )}
            </div>
          ),
        },
        {
          title: text.origin,
          cell: ({ origin }) => (
            <Badge mood={origin === 'default' ? 'quiet' : 'good'}>{text.origins[origin]}</Badge>
          ),
        },
      ]}
    />
  );
}
