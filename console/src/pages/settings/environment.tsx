import { useState } from 'preact/hooks';
import type { Schemas } from '../../api/call.ts';
import { useQuery } from '../../api/use-query.ts';
import { TextField } from '../../components/form.tsx';
import { Badge, Card } from '../../components/page.tsx';
import { Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { quoted } from '../../schema-form/field-texts.ts';
import { useTranslation } from '../../translation/use-translation.ts';
import { useText } from './texts.ts';

/** The variables that this node was started with. */
export function Environment() {
  const text = useText();
  const settings = useQuery('GET /api/settings');
  const { sentence, languageOf } = useTranslation();
  const [wanted, setWanted] = useState('');
  const fits = ({ name, meaning }: Schemas['Setting']) =>
    `${name} ${sentence(meaning)}`.toLowerCase().includes(wanted.toLowerCase());
  return (
    <>
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
                      <p class="faint meaning" lang={languageOf(meaning)}>
                        {quoted(sentence(meaning))}
                      </p>
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
    </>
  );
}
