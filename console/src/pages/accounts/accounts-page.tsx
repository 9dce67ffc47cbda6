import './accounts.css';
import { useState } from 'preact/hooks';
import { call } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Form, TextField } from '../../components/form.tsx';
import { PageFrame } from '../../components/page.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { AccountCard } from './account-card.tsx';

/** The WhatsApp accounts: state, next action, pairing, restart, logout, deletion. */
export function AccountsPage() {
  const text = useTexts('accounts');
  const accounts = useQuery('GET /api/accounts', {}, ['account']);
  const [isAdding, setAdding] = useState(false);
  return (
    <PageFrame
      title={text.title}
      lead={text.lead}
      actions={
        <Button kind="main" icon="plus" scope="accounts:manage" onClick={() => setAdding(true)}>
          {text.add}
        </Button>
      }
    >
      <Loaded query={accounts}>
        {({ data: all }) => {
          const data = all.filter(({ provider }) => provider === undefined);
          return data.length === 0 ? (
            <EmptyState icon="phone" title={text.none}>
              <p>{text.noneHint}</p>
            </EmptyState>
          ) : (
            <div class="grid">
              {data.map((account) => (
                <AccountCard key={account.id} account={account} reload={accounts.reload} />
              ))}
            </div>
          );
        }}
      </Loaded>
      {isAdding && <AddAccount onClose={() => setAdding(false)} reload={accounts.reload} />}
    </PageFrame>
  );
}

function AddAccount({ onClose, reload }: { onClose: () => void; reload: () => void }) {
  const text = useTexts('accounts');
  const [id, setId] = useState('');
  const [proxy, setProxy] = useState('');
  const add = useAction(async () => {
    const url = proxy.trim();
    await call('POST /api/accounts', { body: { id, ...(url !== '' && { proxy: { url } }) } });
    reload();
    onClose();
  }, text.added);
  return (
    <Dialog title={text.add} onClose={onClose}>
      <Form
        onSubmit={() => void add.run()}
        problem={add.problem}
        actions={
          <Button type="submit" kind="main" isBusy={add.isRunning}>
            {text.add}
          </Button>
        }
      >
        <TextField label={text.name} hint={text.nameHint} value={id} onInput={setId} isRequired />
        <TextField
          label={text.proxy.url}
          hint={`${text.proxy.optional} ${text.proxy.hint}`}
          value={proxy}
          onInput={setProxy}
        />
      </Form>
    </Dialog>
  );
}
