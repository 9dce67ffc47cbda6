import { useEffect, useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { SelectField } from '../../components/form.tsx';
import { Menu } from '../../components/menu.tsx';
import { Badge, Card } from '../../components/page.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { ServiceText } from '../../translation/service-text.tsx';

type Task = Schemas['AgentTask'];

/** How often the agent of a running task is asked. */
const ASK_EVERY_MS = 5_000;
const PAGE = 20;

/** The tasks that agents run for messages. */
export function Tasks() {
  const text = useTexts('agents');
  const [state, setState] = useState<'' | Task['state']>('open');
  const [cursor, setCursor] = useState<string>();
  const [asked, setAsked] = useState<Task>();
  const query = { limit: PAGE, cursor, ...(state !== '' && { state }) };
  const tasks = useQuery('GET /api/tasks', { query }, ['task', 'turn']);
  const cancel = useAction(async (id: string) => {
    await call('POST /api/tasks/{id}/cancel', { path: { id } });
    tasks.reload();
  }, text.canceling);
  const choose = (next: string) => {
    setCursor(undefined);
    setState(next as typeof state);
  };
  const options = [
    { value: 'open', label: text.open },
    { value: 'ended', label: text.ended },
    { value: '', label: text.all },
  ];
  return (
    <Card>
      <div class="stack">
        <div class="choice">
          <SelectField label={text.show} value={state} onInput={choose} options={options} />
        </div>
        <Loaded query={tasks}>
          {({ data, next }) => (
            <>
              {data.length === 0 ? (
                <EmptyState icon="list" title={text.tasksNone}>
                  <p>{text.tasksNoneHint}</p>
                </EmptyState>
              ) : (
                <Table
                  caption={text.tasks}
                  rows={data}
                  keyOf={({ id }) => id}
                  columns={[
                    { title: text.task, cell: ({ remoteId }) => <code>{remoteId}</code> },
                    {
                      title: text.chat,
                      cell: ({ chatId, pushName, channelId }) => (
                        <a href={hrefOf(`/chats/${chatId}`)}>{pushName ?? channelId}</a>
                      ),
                    },
                    { title: text.since, cell: ({ createdAt }) => <Time at={createdAt} /> },
                    { title: text.progress, cell: (task) => <Progress task={task} /> },
                    {
                      title: text.actions,
                      isTitleHidden: true,
                      cell: (task) =>
                        task.state === 'open' && (
                          <Menu
                            of={task.remoteId}
                            items={[
                              {
                                title: text.cancel,
                                isDanger: true,
                                scope: 'messages:send',
                                onChoose: () => setAsked(task),
                              },
                            ]}
                          />
                        ),
                    },
                  ]}
                />
              )}
              <div class="actions end">
                {cursor !== undefined && <Button onClick={() => setCursor(undefined)}>{text.newest}</Button>}
                {next !== undefined && <Button onClick={() => setCursor(next)}>{text.more}</Button>}
              </div>
            </>
          )}
        </Loaded>
      </div>
      {asked && (
        <ConfirmDialog
          title={`${text.cancel}: ${asked.remoteId}`}
          action={text.cancel}
          confirm={() => cancel.run(asked.id)}
          onClose={() => setAsked(undefined)}
        >
          <p>{text.cancelAsk}</p>
        </ConfirmDialog>
      )}
    </Card>
  );
}

function Progress({ task }: { task: Task }) {
  const text = useTexts('agents');
  if (task.state === 'open') return <LiveProgress task={task} />;
  return (
    <span>
      <Badge mood="quiet">{text.ended}</Badge> {task.endedAt && <Time at={task.endedAt} />}
    </span>
  );
}

/** What the agent says now, asked again and again while the page is visible. */
function LiveProgress({ task }: { task: Task }) {
  const text = useTexts('agents');
  const answer = useQuery('GET /api/tasks/{id}', { path: { id: task.id } }, ({ type, id }) => {
    return type === 'task' && id === task.id;
  });
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) answer.reload();
    }, ASK_EVERY_MS);
    return () => clearInterval(timer);
  }, [answer.reload]);
  const { now, problem = answer.problem?.message, phrase } = answer.data?.data ?? {};
  if (now === undefined) {
    const shown = problem ?? (answer.data ? text.unknown : text.asking);
    return (
      <span class="faint">
        {problem === undefined || !phrase ? shown : <ServiceText text={problem} phrase={phrase} />}
      </span>
    );
  }
  return (
    <div class="task-progress">
      <span>
        <Badge mood="busy">{now.state}</Badge> {now.percent !== undefined && `${now.percent} %`}
      </span>
      {now.percent !== undefined && (
        <progress max={100} value={now.percent} aria-label={text.progressOf(task.remoteId)} />
      )}
      {now.text !== undefined && <span class="faint">{now.text}</span>}
    </div>
  );
}
