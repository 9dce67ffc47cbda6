import { useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useQuery } from '../../api/use-query.ts';
import { useCaller, useMay } from '../../app/caller.tsx';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Menu } from '../../components/menu.tsx';
import { Badge, Card, PageFrame } from '../../components/page.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { OwnPassword } from './own-password.tsx';
import { Sessions } from './sessions.tsx';
import { UserForm } from './user-form.tsx';

export type User = Schemas['User'];

/** Who signs in: users and their roles, sessions, and one's own password. */
export function UsersPage() {
  const text = useTexts('users');
  const caller = useCaller();
  const isAdmin = useMay()('admin');
  return (
    <PageFrame title={text.title} lead={text.lead}>
      {caller?.isFirstRun && (
        <div class="notice busy">
          <strong>{text.firstRun}</strong>
          <p>{text.firstRunHint}</p>
        </div>
      )}
      {isAdmin && <People own={caller?.kind === 'user' ? caller.name : undefined} />}
      {caller?.kind === 'user' && caller.name !== undefined && <OwnPassword name={caller.name} />}
      {caller && !caller.isFirstRun && <Sessions />}
    </PageFrame>
  );
}

function People({ own }: { own: string | undefined }) {
  const text = useTexts('users');
  const users = useQuery('GET /api/users');
  const [open, setOpen] = useState<{ what: 'add' } | { what: 'edit' | 'remove'; user: User }>();
  const close = () => setOpen(undefined);
  const change = useAction(async ({ name, enabled }: User) => {
    await call('PATCH /api/users/{name}', { path: { name }, body: { enabled: !enabled } });
    users.reload();
  }, text.saved);
  const remove = useAction(async (name: string) => {
    await call('DELETE /api/users/{name}', { path: { name } });
    users.reload();
  }, text.removed);
  const isFirst = users.data?.data.length === 0;
  return (
    <Card
      title={text.users}
      actions={
        <Button kind="main" icon="plus" onClick={() => setOpen({ what: 'add' })}>
          {text.add}
        </Button>
      }
    >
      <div class="stack">
        <Loaded query={users}>
          {({ data }) =>
            data.length === 0 ? (
              <EmptyState icon="user" title={text.none}>
                <p>{text.noneHint}</p>
              </EmptyState>
            ) : (
              <Table
                caption={text.users}
                rows={data}
                keyOf={({ name }) => name}
                columns={[
                  { title: text.name, cell: ({ name }) => <strong>{name}</strong> },
                  { title: text.role, cell: ({ role }) => text.roles[role] },
                  {
                    title: text.state,
                    cell: ({ enabled }) => (
                      <Badge mood={enabled ? 'good' : 'bad'}>{enabled ? text.enabled : text.disabled}</Badge>
                    ),
                  },
                  { title: text.since, cell: ({ createdAt }) => <Time at={createdAt} /> },
                  {
                    title: text.actions,
                    isTitleHidden: true,
                    cell: (user) => (
                      <Menu
                        of={user.name}
                        items={[
                          { title: text.edit, onChoose: () => setOpen({ what: 'edit', user }) },
                          {
                            title: user.enabled ? text.disable : text.enable,
                            isDisabled: change.isRunning,
                            onChoose: () => void change.run(user),
                          },
                          {
                            title: text.remove,
                            isDanger: true,
                            onChoose: () => setOpen({ what: 'remove', user }),
                          },
                        ]}
                      />
                    ),
                  },
                ]}
              />
            )
          }
        </Loaded>
        <details>
          <summary>{text.rolesTitle}</summary>
          <dl class="facts">
            {(['owner', 'operator', 'viewer'] as const).map((role) => [
              <dt key={`${role}-name`}>{text.roles[role]}</dt>,
              <dd key={role}>{text.roleMeaning[role]}</dd>,
            ])}
          </dl>
        </details>
      </div>
      {open?.what === 'add' && <UserForm isFirst={isFirst} onClose={close} reload={users.reload} />}
      {open?.what === 'edit' && (
        <UserForm user={open.user} isOwn={open.user.name === own} onClose={close} reload={users.reload} />
      )}
      {open?.what === 'remove' && (
        <ConfirmDialog
          title={`${text.remove}: ${open.user.name}`}
          action={text.remove}
          confirm={() => remove.run(open.user.name)}
          onClose={close}
        >
          <p>{text.removeAsk}</p>
        </ConfirmDialog>
      )}
    </Card>
  );
}
