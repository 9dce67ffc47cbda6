import { useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { CheckField, Form, TextField } from '../../components/form.tsx';
import { useText } from './texts.ts';

type Scope = Schemas['Key']['scopes'][number];

/** A dialog that creates a key and shows it once. */
export function CreateKey({ onClose, reload }: { onClose: () => void; reload: () => void }) {
  const text = useText();
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<Scope[]>(['messages:read']);
  const [created, setCreated] = useState<string>();
  const create = useAction(async () => {
    const { data } = await call('POST /api/keys', { body: { name, scopes } });
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
      </Form>
    </Dialog>
  );
}
