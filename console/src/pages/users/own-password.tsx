import { useState } from 'preact/hooks';
import { call } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { Form, TextField } from '../../components/form.tsx';
import { Card } from '../../components/page.tsx';

/** Changes the password of the person who is signed in. */
export function OwnPassword({ name }: { name: string }) {
  const text = useTexts('users');
  const [currentPassword, setCurrent] = useState('');
  const [newPassword, setNew] = useState('');
  const change = useAction(async () => {
    await call('PUT /api/session/password', { body: { currentPassword, newPassword } });
    setCurrent('');
    setNew('');
  }, text.changed);
  return (
    <Card title={text.own}>
      <Form
        onSubmit={() => void change.run()}
        problem={change.problem}
        actions={
          <Button type="submit" isBusy={change.isRunning}>
            {text.change}
          </Button>
        }
      >
        <p class="faint">{text.ownHint(name)}</p>
        <div class="fields">
          <TextField
            type="password"
            autocomplete="current-password"
            label={text.currentPassword}
            value={currentPassword}
            onInput={setCurrent}
            isRequired
          />
          <TextField
            type="password"
            autocomplete="new-password"
            label={text.newPassword}
            hint={text.passwordHint}
            value={newPassword}
            onInput={setNew}
            isRequired
          />
        </div>
      </Form>
    </Card>
  );
}
