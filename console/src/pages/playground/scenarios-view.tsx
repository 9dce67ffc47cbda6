import { useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useQuery } from '../../api/use-query.ts';
import { Button } from '../../components/button.tsx';
import { Form, TextArea } from '../../components/form.tsx';
import { Menu } from '../../components/menu.tsx';
import { Badge, Card, PageFrame } from '../../components/page.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { Table } from '../../components/table.tsx';
import { useTimes } from '../../conversation/times.ts';
import { ServiceText } from '../../translation/service-text.tsx';
import { downloadText } from './download-text.ts';
import { useText } from './texts.ts';

type Result = Schemas['ScenarioResult'];

const EXAMPLE = `name: Greeting
steps:
  - { as: Ana, say: hola }
  - expect: { contains: hola, withinMs: 5000 }
`;

const MOODS = { passed: 'good', failed: 'bad', skipped: 'quiet' } as const;

/** Saved scenarios: run, edit, download, delete; and a new one. */
export function ScenariosView({ onBack }: { onBack(): void }) {
  const t = useText();
  const { full } = useTimes();
  const saved = useQuery('GET /api/playground/scenarios');
  const [yaml, setYaml] = useState(EXAMPLE);
  const [result, setResult] = useState<Result>();
  const run = useAction(async (id: string) => {
    setResult(undefined);
    const { data } = await call('POST /api/playground/scenarios/{id}/run', { path: { id } });
    setResult(data);
  });
  const textOf = async (id: string) =>
    (await call('GET /api/playground/scenarios/{id}', { path: { id } })).data.yaml;
  const load = useAction(async (id: string) => setYaml(await textOf(id)));
  const download = useAction(async (id: string, name: string) =>
    downloadText(`${name}.yaml`, await textOf(id)),
  );
  const remove = useAction(async (id: string) => {
    await call('DELETE /api/playground/scenarios/{id}', { path: { id } });
    saved.reload();
  });
  const save = useAction(async () => {
    await call('POST /api/playground/scenarios', { body: { yaml } });
    saved.reload();
  }, t('saved'));
  return (
    <div class="play-start">
      <button type="button" class="button back" onClick={onBack}>
        <span aria-hidden="true">‹ </span>
        {t('back')}
      </button>
      <PageFrame title={t('scenarios')} lead={t('scenarioHint')}>
        <Card title={t('savedScenarios')}>
          <Loaded query={saved}>
            {({ data }) =>
              data.length === 0 ? (
                <EmptyState icon="play" title={t('noScenarios')}>
                  <p>{t('noScenariosHint')}</p>
                </EmptyState>
              ) : (
                <Table
                  caption={t('savedScenarios')}
                  rows={data}
                  keyOf={({ id }) => id}
                  columns={[
                    { title: t('name'), cell: ({ name }) => name },
                    { title: t('savedAt'), cell: ({ savedAt }) => full(savedAt) },
                    {
                      title: t('actions'),
                      isTitleHidden: true,
                      cell: ({ id, name }) => (
                        <div class="actions">
                          <Button kind="main" isDisabled={run.isRunning} onClick={() => void run.run(id)}>
                            {t('run')}
                          </Button>
                          <Menu
                            of={name}
                            items={[
                              { title: t('load'), onChoose: () => void load.run(id) },
                              { title: t('download'), onChoose: () => void download.run(id, name) },
                              { title: t('remove'), isDanger: true, onChoose: () => void remove.run(id) },
                            ]}
                          />
                        </div>
                      ),
                    },
                  ]}
                />
              )
            }
          </Loaded>
        </Card>
        <div role="status">
          {run.isRunning && <p class="notice">{t('running')}</p>}
          {result && <ResultCard result={result} />}
        </div>
        <Card title={t('newScenario')}>
          <Form
            onSubmit={() => void save.run()}
            {...(save.problem && { problem: save.problem })}
            actions={
              <Button type="submit" kind="main" isBusy={save.isRunning} isDisabled={yaml.trim() === ''}>
                {t('save')}
              </Button>
            }
          >
            <TextArea isCode rows={10} label={t('scenarioText')} value={yaml} onInput={setYaml} />
          </Form>
        </Card>
      </PageFrame>
    </div>
  );
}

/** The steps of a run, each with what was said. */
function ResultCard({ result }: { result: Result }) {
  const t = useText();
  return (
    <Card title={t('result', { name: result.name })}>
      <p>
        <Badge mood={result.isPassed ? 'good' : 'bad'}>
          {t(result.isPassed ? 'allPassed' : 'notPassed')}
        </Badge>
      </p>
      <Table
        caption={t('result', { name: result.name })}
        rows={result.steps}
        keyOf={({ number }) => String(number)}
        columns={[
          {
            title: t('step'),
            cell: ({ number, step, detail, phrase }) => (
              <>
                {number}. {step}
                {detail !== undefined && (
                  <p class="faint">
                    <ServiceText text={detail} phrase={phrase} />
                  </p>
                )}
              </>
            ),
          },
          {
            title: t('outcome'),
            cell: ({ outcome }) => <Badge mood={MOODS[outcome]}>{t(outcome)}</Badge>,
          },
          { title: t('time'), isNumber: true, cell: ({ ms }) => t('milliseconds', { ms }) },
        ]}
      />
    </Card>
  );
}
