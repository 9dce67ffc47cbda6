import { useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { CheckField, Form, TextArea } from '../../components/form.tsx';
import { RouteChanges } from './route-changes.tsx';

interface Plan {
  version: number;
  changes: readonly Schemas['RouteChange'][];
  unchanged: number;
}

/** Makes the routes as a file says: shows what would change, then applies it. */
export function ImportRoutes({ onClose, onApplied }: { onClose: () => void; onApplied: () => void }) {
  const text = useTexts('routes');
  const [yaml, setYaml] = useState('');
  const [isPruned, setPruned] = useState(false);
  const [plan, setPlan] = useState<Plan>();
  const prune = isPruned ? { prune: 'true' } : {};
  const show = useAction(async () => {
    const { data } = await call('POST /api/routes/apply', { yaml, query: { ...prune, dryRun: 'true' } });
    setPlan(data);
  });
  const apply = useAction(async () => {
    // Nothing is stored if the table has changed since the plan was shown.
    const query = { ...prune, ...(plan && { expectedVersion: plan.version }) };
    await call('POST /api/routes/apply', { yaml, query });
    onApplied();
    onClose();
  }, text.imported);
  const change = (next: string) => {
    setYaml(next);
    setPlan(undefined);
  };
  const problem = show.problem ?? apply.problem;
  return (
    <Dialog title={text.importFile} isWide onClose={onClose}>
      <Form
        onSubmit={() => void (plan ? apply.run() : show.run())}
        {...(problem && { problem })}
        actions={
          <>
            {plan && <Button onClick={() => setPlan(undefined)}>{text.back}</Button>}
            <Button
              type="submit"
              kind="main"
              isBusy={show.isRunning || apply.isRunning}
              isDisabled={yaml.trim() === '' || plan?.changes.length === 0}
            >
              {plan ? text.apply : text.showChanges}
            </Button>
          </>
        }
      >
        {plan ? (
          <div class="stack" aria-live="polite">
            <p>{text.plan.replace('{count}', String(plan.unchanged))}</p>
            <RouteChanges changes={plan.changes} />
          </div>
        ) : (
          <>
            <label class="field">
              {text.file}
              <input
                type="file"
                accept=".yaml,.yml,.json"
                onChange={({ currentTarget }) => void currentTarget.files?.[0]?.text().then(change)}
              />
            </label>
            <TextArea isCode rows={12} label={text.fileText} value={yaml} onInput={change} />
            <CheckField label={text.prune} hint={text.pruneHint} value={isPruned} onInput={setPruned} />
          </>
        )}
      </Form>
    </Dialog>
  );
}
