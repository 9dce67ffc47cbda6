import { useState } from 'preact/hooks';
import { baseUrl } from '../../api/base-url.ts';
import { call } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Form, SelectField, TextField } from '../../components/form.tsx';
import type { User } from './users-page.tsx';

type Role = User['role'];

interface Props {
  /** Absent: a new user. */
  user?: User;
  /** The user is the one who is signed in. */
  isOwn?: boolean;
  /** There is no user yet: it must be an owner, and this browser has to sign in afterwards. */
  isFirst?: boolean;
  onClose: () => void;
  reload: () => void;
}

/** A dialog that adds a user, or changes the role and the password of one. */
export function UserForm({ user, isOwn = false, isFirst = false, onClose, reload }: Props) {
  const text = useTexts('users');
  const [name, setName] = useState(user?.name ?? '');
  const [role, setRole] = useState<Role>(user?.role ?? (isFirst ? 'owner' : 'operator'));
  const [password, setPassword] = useState('');
  const save = useAction(
    async () => {
      if (user) {
        const body = { ...(role !== user.role && { role }), ...(password !== '' && { password }) };
        if (Object.keys(body).length > 0)
          await call('PATCH /api/users/{name}', { path: { name: user.name }, body });
      } else {
        await call('POST /api/users', { body: { name, role, password } });
        if (isFirst) {
          // From now on this browser needs a session.
          await call('POST /api/session', { body: { name, password } }).catch(() => location.assign(baseUrl));
          return location.reload();
        }
      }
      reload();
      onClose();
    },
    user ? text.saved : text.added,
  );
  const roles = isFirst ? (['owner'] as const) : (['owner', 'operator', 'viewer'] as const);
  return (
    <Dialog title={user ? `${text.edit}: ${user.name}` : text.add} onClose={onClose}>
      <Form
        onSubmit={() => void save.run()}
        problem={save.problem}
        actions={
          <Button type="submit" kind="main" isBusy={save.isRunning}>
            {user ? text.save : text.add}
          </Button>
        }
      >
        {!user && (
          <TextField
            label={text.name}
            hint={text.nameHint}
            value={name}
            onInput={setName}
            autocomplete="off"
            isRequired
          />
        )}
        <SelectField
          label={text.role}
          hint={text.roleMeaning[role]}
          value={role}
          onInput={(value) => setRole(value as Role)}
          options={roles.map((value) => ({ value, label: text.roles[value] }))}
        />
        {isOwn ? (
          <p class="faint">{text.ownPasswordHint}</p>
        ) : (
          <TextField
            type="password"
            autocomplete="new-password"
            label={user ? text.newPassword : text.password}
            hint={user ? `${text.passwordHint} ${text.newPasswordHint}` : text.passwordHint}
            value={password}
            onInput={setPassword}
            isRequired={!user}
          />
        )}
      </Form>
    </Dialog>
  );
}
