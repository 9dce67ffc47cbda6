import { useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Menu } from '../../components/menu.tsx';
import { Badge, Card, PageFrame } from '../../components/page.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { CreateKey } from './create-key.tsx';

type Key = Schemas['Key'];

/** The keys of the API: create and revoke. */
export function KeysPage() {
  const text = useTexts('keys');
  const keys = useQuery('GET /api/keys', {}, ['key']);
  const known = useQuery('GET /api/routes', {}, ['route']).data?.data;
  const routeName = (wanted: string) => known?.find(({ id }) => id === wanted)?.name ?? wanted;
  const [isCreating, setCreating] = useState(false);
  const [asked, setAsked] = useState<Key>();
  const revoke = useAction(async (id: string) => {
    await call('DELETE /api/keys/{id}', { path: { id } });
    keys.reload();
  }, text.revoked);
  return (
    <PageFrame
      title={text.title}
      lead={text.lead}
      actions={
        <Button kind="main" icon="plus" onClick={() => setCreating(true)}>
          {text.add}
        </Button>
      }
    >
      <Loaded query={keys}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState icon="key" title={text.none}>
              <p>{text.noneHint}</p>
            </EmptyState>
          ) : (
            <Card>
              <Table
                caption={text.title}
                rows={data}
                keyOf={({ id }) => id}
                columns={[
                  {
                    title: text.name,
                    cell: ({ name, prefix, expiresAt }) => (
                      <div>
                        <strong>{name}</strong>
                        <p class="faint">
                          <code class="whole">{prefix}…</code>
                        </p>
                        {expiresAt !== undefined && (
                          <p class="faint">
                            {text.ends} <Time at={expiresAt} />
                          </p>
                        )}
                      </div>
                    ),
                  },
                  {
                    title: text.scopes,
                    cell: ({ scopes }) => (
                      <span class="badges">
                        {scopes.map((scope) => (
                          <Badge key={scope} mood="quiet">
                            {scope}
                          </Badge>
                        ))}
                      </span>
                    ),
                  },
                  {
                    title: text.restricted,
                    cell: ({ accounts = [], chats = [], routes = [] }) =>
                      [...accounts, ...chats, ...routes.map(routeName)].join(', ') || text.everything,
                  },
                  {
                    title: text.used,
                    cell: ({ lastUsedAt }) => (lastUsedAt ? <Time at={lastUsedAt} /> : text.never),
                  },
                  {
                    title: text.actions,
                    isTitleHidden: true,
                    cell: (key) => (
                      <Menu
                        of={key.name}
                        items={[{ title: text.revoke, isDanger: true, onChoose: () => setAsked(key) }]}
                      />
                    ),
                  },
                ]}
              />
            </Card>
          )
        }
      </Loaded>
      {isCreating && <CreateKey onClose={() => setCreating(false)} reload={keys.reload} />}
      {asked && (
        <ConfirmDialog
          title={`${text.revoke}: ${asked.name}`}
          action={text.revoke}
          confirm={() => revoke.run(asked.id)}
          onClose={() => setAsked(undefined)}
        >
          <p>{text.revokeAsk}</p>
        </ConfirmDialog>
      )}
    </PageFrame>
  );
}
