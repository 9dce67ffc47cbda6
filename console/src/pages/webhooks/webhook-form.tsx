import { useState } from 'preact/hooks';
import { call } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useQuery } from '../../api/use-query.ts';
import { useMay } from '../../app/caller.tsx';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { CheckField, Form, SelectField, TextField } from '../../components/form.tsx';
import type { Webhook } from './webhooks-page.tsx';

type Event = Webhook['events'][number];

/** A dialog that adds a webhook and shows its secret once, or changes one. */
export function WebhookForm(props: { webhook?: Webhook; onClose: () => void; reload: () => void }) {
  const { webhook, onClose, reload } = props;
  const text = useTexts('webhooks');
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [events, setEvents] = useState<Event[]>(webhook?.events ?? ['message']);
  const [accountId, setAccountId] = useState(webhook?.accountId ?? '');
  const [secret, setSecret] = useState('');
  const accountIds = useAccountIds(accountId);
  const [created, setCreated] = useState<string>();
  const given = { url, events, ...(secret !== '' && { secret }) };
  const save = useAction(async () => {
    if (webhook) {
      const body = { ...given, accountId: accountId === '' ? null : accountId };
      await call('PATCH /api/webhooks/{id}', { path: { id: webhook.id }, body });
    } else {
      const body = { ...given, ...(accountId !== '' && { accountId }) };
      const { data } = await call('POST /api/webhooks', { body });
      if (data.secret !== undefined) {
        setCreated(data.secret);
        return reload();
      }
    }
    reload();
    onClose();
  }, text.saved);
  if (created !== undefined) {
    return (
      <Dialog title={url} onClose={onClose}>
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
  const choose = (event: Event, isChosen: boolean) =>
    setEvents(isChosen ? [...events, event] : events.filter((each) => each !== event));
  const action = webhook ? text.save : text.add;
  return (
    <Dialog title={webhook ? text.edit : text.add} onClose={onClose}>
      <Form
        onSubmit={() => void save.run()}
        problem={save.problem}
        actions={
          <Button type="submit" kind="main" isBusy={save.isRunning}>
            {action}
          </Button>
        }
      >
        <TextField type="url" label={text.url} hint={text.urlHint} value={url} onInput={setUrl} isRequired />
        <fieldset>
          <legend>{text.events}</legend>
          <div class="fields">
            {(Object.keys(text.eventMeaning) as Event[]).map((event) => (
              <CheckField
                key={event}
                label={event}
                hint={text.eventMeaning[event]}
                value={events.includes(event)}
                onInput={(isChosen) => choose(event, isChosen)}
              />
            ))}
          </div>
        </fieldset>
        <SelectField
          label={text.account}
          hint={text.accountHint}
          value={accountId}
          onInput={setAccountId}
          options={[
            { value: '', label: text.allAccounts },
            ...accountIds.map((id) => ({ value: id, label: id })),
          ]}
        />
        <TextField
          type="password"
          autocomplete="new-password"
          label={webhook ? text.newSecret : text.secret}
          hint={webhook ? `${text.secretHint} ${text.secretEditHint}` : text.secretAddHint}
          value={secret}
          onInput={setSecret}
        />
      </Form>
    </Dialog>
  );
}

/** Ids of the accounts, with the chosen one, which may be deleted; only that one for those who may not see accounts. */
function useAccountIds(chosen: string): string[] {
  const isAllowed = useMay()('accounts:read');
  const { data } = useQuery('GET /api/accounts', isAllowed ? {} : null, ['account']);
  const ids = (data?.data ?? []).map(({ id }) => id);
  return [...new Set([...ids, ...(chosen === '' ? [] : [chosen])])];
}
