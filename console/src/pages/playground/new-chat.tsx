import { useState } from 'preact/hooks';
import { useAction } from '../../api/use-action.ts';
import { useQuery } from '../../api/use-query.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Form, SelectField, TextField } from '../../components/form.tsx';
import type { PlayChat } from './people.ts';
import { createChat } from './play-chat.ts';
import { useText } from './texts.ts';

/** A dialog that invents a person or a group, and chooses the route that answers. */
export function NewChat({ onClose, onCreated }: { onClose(): void; onCreated(chat: PlayChat): void }) {
  const t = useText();
  const routes = useQuery('GET /api/routes', {}, ['route']);
  const [kind, setKind] = useState<'person' | 'group'>('person');
  const [name, setName] = useState('');
  const [people, setPeople] = useState('Ana, Luis');
  const [phone, setPhone] = useState('');
  const [routeId, setRouteId] = useState('');
  const create = useAction(async () => {
    const names = people.split(',').map((each) => each.trim());
    onCreated(
      await createChat({
        ...{ kind, name: name.trim() },
        ...(kind === 'group' && { people: names.filter(Boolean).map((each) => ({ name: each })) }),
        ...(kind === 'person' && phone.trim() !== '' && { phone: phone.trim() }),
        ...(routeId !== '' && { routeId }),
      }),
    );
  });
  const options = (routes.data?.data ?? []).map((route) => ({
    value: route.id,
    label: [route.name, route.accountId, route.channelId, route.agentEndpoint].filter(Boolean).join(' · '),
  }));
  return (
    <Dialog title={t('newChat')} onClose={onClose}>
      <Form
        onSubmit={() => void create.run()}
        {...(create.problem && { problem: create.problem })}
        actions={
          <Button type="submit" kind="main" isBusy={create.isRunning}>
            {t('create')}
          </Button>
        }
      >
        <SelectField
          label={t('kind')}
          value={kind}
          onInput={(value) => setKind(value as typeof kind)}
          options={[
            { value: 'person', label: t('onePerson') },
            { value: 'group', label: t('aGroup') },
          ]}
        />
        <TextField
          label={t(kind === 'person' ? 'name' : 'groupName')}
          value={name}
          onInput={setName}
          isRequired
        />
        {kind === 'group' ? (
          <TextField
            label={t('people')}
            hint={t('peopleHint')}
            value={people}
            onInput={setPeople}
            isRequired
          />
        ) : (
          <TextField label={t('phone')} hint={t('phoneHint')} type="tel" value={phone} onInput={setPhone} />
        )}
        <SelectField
          label={t('route')}
          hint={t('routeHint')}
          value={routeId}
          onInput={setRouteId}
          options={[{ value: '', label: t('table') }, ...options]}
        />
      </Form>
    </Dialog>
  );
}
