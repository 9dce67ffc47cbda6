import { useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { CheckField, Form, SelectField, TextField } from '../../components/form.tsx';

type Scope = Schemas['Key']['scopes'][number];

const DAY_MS = 86_400_000;
/** Days for which a key can be valid. */
const EXPIRIES = [30, 90, 365] as const;

/** A dialog that creates a key and shows it once. */
export function CreateKey({ onClose, reload }: { onClose: () => void; reload: () => void }) {
  const text = useTexts('keys');
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<Scope[]>(['messages:read']);
  const [accounts, setAccounts] = useState<string[]>([]);
  const [routes, setRoutes] = useState<string[]>([]);
  const [chats, setChats] = useState('');
  const [days, setDays] = useState('');
  const [perMinute, setPerMinute] = useState('100');
  const knownAccounts = useQuery('GET /api/accounts', {}, []);
  const knownRoutes = useQuery('GET /api/routes', {}, []);
  const [created, setCreated] = useState<string>();
  const create = useAction(async () => {
    const { data } = await call('POST /api/keys', {
      body: {
        ...{ name, scopes },
        ...(accounts.length > 0 && { accounts }),
        ...(routes.length > 0 && { routes }),
        ...(days !== '' && { expiresAt: new Date(Date.now() + Number(days) * DAY_MS).toISOString() }),
        limits: { perMinute: Number(perMinute) },
        ...(chats.trim() !== '' && { chats: chats.split(',').map((chat) => chat.trim()) }),
      },
    });
    setCreated(data.key);
    reload();
  });
  if (created !== undefined) {
    return (
      <Dialog title={name} onClose={onClose}>
        <p>{text.created}</p>
        <pre>{created}</pre>
        <div class="actions end">
          <Button kind="main" onClick={onClose}>
            {text.close}
          </Button>
        </div>
      </Dialog>
    );
  }
  const choose = (scope: Scope, isChosen: boolean) =>
    setScopes(isChosen ? [...scopes, scope] : scopes.filter((each) => each !== scope));
  return (
    <Dialog title={text.add} onClose={onClose}>
      <Form
        onSubmit={() => void create.run()}
        problem={create.problem}
        actions={
          <Button type="submit" kind="main" isBusy={create.isRunning}>
            {text.add}
          </Button>
        }
      >
        <TextField label={text.name} hint={text.nameHint} value={name} onInput={setName} isRequired />
        <SelectField
          label={text.expires}
          value={days}
          onInput={setDays}
          options={[
            { value: '', label: text.noExpiry },
            ...EXPIRIES.map((each) => ({ value: String(each), label: text.days(each) })),
          ]}
        />
        <fieldset>
          <legend>{text.scopes}</legend>
          <div class="fields">
            {(Object.keys(text.scopeMeaning) as Scope[]).map((scope) => (
              <CheckField
                key={scope}
                label={scope}
                hint={text.scopeMeaning[scope]}
                value={scopes.includes(scope)}
                onInput={(isChosen) => choose(scope, isChosen)}
              />
            ))}
          </div>
        </fieldset>
        <details>
          <summary>{text.only}</summary>
          <p class="hint">{text.onlyHint}</p>
          <Choices
            title={text.accounts}
            options={(knownAccounts.data?.data ?? []).map(({ id }) => [id, id])}
            chosen={accounts}
            onChange={setAccounts}
          />
          <Choices
            title={text.routes}
            options={(knownRoutes.data?.data ?? []).map(({ id, name: called, channelId }) => [
              id,
              called ?? channelId,
            ])}
            chosen={routes}
            onChange={setRoutes}
          />
          <TextField label={text.chats} hint={text.chatsHint} value={chats} onInput={setChats} />
          <TextField
            type="number"
            label={text.perMinute}
            value={perMinute}
            onInput={setPerMinute}
            isRequired
          />
        </details>
      </Form>
    </Dialog>
  );
}

/** Boxes of which none means: all. */
function Choices(props: {
  title: string;
  /** Id and label. */
  options: ReadonlyArray<readonly [string, string]>;
  chosen: readonly string[];
  onChange: (ids: string[]) => void;
}) {
  const { title, options, chosen, onChange } = props;
  if (options.length === 0) return null;
  return (
    <fieldset>
      <legend>{title}</legend>
      <div class="fields">
        {options.map(([id, label]) => (
          <CheckField
            key={id}
            label={label}
            value={chosen.includes(id)}
            onInput={(isChosen) =>
              onChange(isChosen ? [...chosen, id] : chosen.filter((each) => each !== id))
            }
          />
        ))}
      </div>
    </fieldset>
  );
}
