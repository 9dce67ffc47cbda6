import { useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { Form, TextField } from '../../components/form.tsx';

/** The proxy of an account: its URL, to change or to remove. */
export function ProxyForm({ account, reload }: { account: Schemas['Account']; reload: () => void }) {
  const text = useTexts('accounts').proxy;
  const stored = account.proxy?.url ?? '';
  // Undefined: nobody has typed.
  const [typed, setTyped] = useState<string>();
  const url = typed ?? stored;
  const change = useAction(async (proxy: { url: string } | null) => {
    await call('PUT /api/accounts/{id}', { path: { id: account.id }, body: { proxy } });
    setTyped(undefined);
    reload();
  }, text.stored);
  return (
    <Form
      onSubmit={() => void change.run({ url: url.trim() })}
      problem={change.problem}
      isUnsaved={() => typed !== undefined && typed !== stored}
      actions={
        <>
          <Button type="submit" isBusy={change.isRunning} isDisabled={url.trim() === ''}>
            {text.save}
          </Button>
          {stored !== '' && (
            <Button isBusy={change.isRunning} onClick={() => void change.run(null)}>
              {text.remove}
            </Button>
          )}
        </>
      }
    >
      <TextField label={text.url} hint={text.hint} value={url} onInput={setTyped} isRequired />
    </Form>
  );
}
