import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { call, etagOf, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { Button } from '../../components/button.tsx';
import { Form } from '../../components/form.tsx';
import { Card, PageFrame } from '../../components/page.tsx';
import { Loaded } from '../../components/states.tsx';
import type { JsonSchema } from '../../schema-form/json-schema.ts';
import { AgentFields } from './agent-fields.tsx';
import { AskAgent } from './ask-agent.tsx';
import { FindAgent, type FoundAgent } from './find-agent.tsx';
import { AdvancedFields, FailureFields, HowFields } from './policy-fields.tsx';
import { RawConfig } from './raw-config.tsx';
import { createBody, patchBody } from './route-bodies.ts';
import { draftOf, mistakesOf, newDraft, plainField, type RouteDraft } from './route-draft.ts';
import { RareFields, WhenFields, WhoFields } from './route-fields.tsx';
import { RoutePreview } from './route-preview.tsx';
import { RouteTest } from './route-test.tsx';
import { useFieldName } from './use-field-name.ts';

type Route = Schemas['Route'];

/** What the service says about a route that it stored. */
export interface SavedRoute {
  route: Route;
  warnings: readonly Schemas['Warning'][];
}

/** The form of a route: a new one without an id. */
export function RouteEditor({ id, onSaved }: { id?: string; onSaved: (saved: SavedRoute) => void }) {
  const text = useTexts('routes');
  // What answers at the address of a new route; the form is shown from then on.
  const [found, setFound] = useState<FoundAgent>();
  const kinds = useQuery('GET /api/agent-kinds');
  const route = useQuery('GET /api/routes/{id}', id === undefined ? null : { path: { id } }, ['route']);
  return (
    <PageFrame
      title={id === undefined ? text.add : (route.data?.data.name ?? text.edit)}
      back={{ href: hrefOf('/routes'), title: text.allRoutes }}
    >
      <Loaded query={kinds}>
        {({ data }) =>
          id === undefined ? (
            <>
              <FindAgent onFound={setFound} />
              {found && <RouteForm key={found.round} known={data} found={found} onSaved={onSaved} />}
            </>
          ) : (
            <Loaded query={route}>
              {(found) => (
                <RouteForm
                  key={id}
                  known={data}
                  route={found.data}
                  etag={etagOf(found)}
                  onSaved={onSaved}
                  reload={route.reload}
                />
              )}
            </Loaded>
          )
        }
      </Loaded>
    </PageFrame>
  );
}

interface KnownKinds {
  kinds: readonly Schemas['AgentKind'][];
  common: Record<string, unknown>;
}

function RouteForm(props: {
  known: KnownKinds;
  route?: Route;
  /** The agent of a new route. */
  found?: FoundAgent;
  /** Of `route`. */
  etag?: string | undefined;
  onSaved: (saved: SavedRoute) => void;
  /** Reads `route` again. */
  reload?: () => void;
}) {
  const { known, onSaved } = props;
  const text = useTexts('routes');
  // The route when the form opened; a later change of another person does not overwrite what is written here.
  const [before, setBefore] = useState(props.route);
  const [etag, setEtag] = useState(props.etag);
  const [draft, setDraft] = useState<RouteDraft>(() =>
    before ? draftOf(before) : newDraft(known.kinds[0]?.name ?? '', 0, props.found),
  );
  // As the form began.
  const [first, setFirst] = useState(draft);
  const isSaved = useRef(false);
  const [isRaw, setRaw] = useState(false);
  const [isBroken, setBroken] = useState(false);
  // Fields remember what is written in them; another round begins with the values of the route.
  const [round, setRound] = useState(0);
  const set = (change: Partial<RouteDraft>) => setDraft((now) => ({ ...now, ...change }));
  const save = useAction(
    async (ifMatch: string | undefined) => {
      const { data, warnings = [] } = before
        ? await call('PATCH /api/routes/{id}', {
            path: { id: before.id },
            body: patchBody(before, draft),
            ifMatch,
          })
        : await call('POST /api/routes', { body: createBody(draft) });
      isSaved.current = true;
      onSaved({ route: data, warnings });
    },
    text.saved,
    ({ message, details }) => (details.length > 0 ? text.correct : message),
  );
  const reload = () => {
    setRound(round + 1);
    setBroken(false);
    setBefore(props.route);
    setEtag(props.etag);
    if (!props.route) return;
    setDraft(draftOf(props.route));
    setFirst(draftOf(props.route));
  };
  const nameOf = useFieldName();
  const mistakes = useMemo(() => mistakesOf(save.problem), [save.problem]);
  const form = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (save.problem?.status === 412) props.reload?.();
    if (save.problem) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [save.problem]);
  const isOutdated = before !== undefined && props.etag !== etag;
  const common = known.common as JsonSchema;
  const parts = { draft, mistakes, onChange: set };
  return (
    <div class="route-form" ref={form}>
      {isOutdated && !save.isRunning && (
        <div class="notice busy" role="status">
          <p>{text.changedMeanwhile}</p>
          <div class="actions">
            <Button onClick={reload}>{text.loadAgain}</Button>
            <Button isDisabled={isBroken} onClick={() => void save.run(props.etag)}>
              {text.saveAnyway}
            </Button>
          </div>
        </div>
      )}
      {before?.damage && <div class="notice bad">{before.damage}</div>}
      <Form
        onSubmit={() => !isBroken && void save.run(etag)}
        isUnsaved={() => !isSaved.current && JSON.stringify(draft) !== JSON.stringify(first)}
        {...(save.problem && { problem: save.problem })}
        nameOf={(field) => nameOf(plainField(field))}
        actions={
          <>
            <span class="form-bar">
              <Button isPressed={isRaw} isDisabled={isBroken} onClick={() => setRaw(!isRaw)}>
                {text.raw}
              </Button>
            </span>
            <Button type="submit" kind="main" isBusy={save.isRunning} isDisabled={isBroken}>
              {text.save}
            </Button>
          </>
        }
      >
        {isRaw ? (
          <div class="form" key={`raw ${round}`}>
            <WhoFields {...parts} />
            <WhenFields {...parts} />
            <RawConfig
              draft={draft}
              mistakes={mistakes}
              onChange={(change, isJson) => {
                setBroken(!isJson);
                set(change);
              }}
            />
            <Card title={text.advanced}>
              <RareFields {...parts} />
            </Card>
          </div>
        ) : (
          <div class="form" key={`form ${round}`}>
            <WhoFields {...parts} schema={common} />
            <WhenFields {...parts} schema={common} />
            <AgentFields {...parts} kinds={known.kinds} {...(props.found && { found: props.found })} />
            <HowFields {...parts} schema={common} />
            <FailureFields {...parts} schema={common} />
            <AdvancedFields {...parts} schema={common} />
          </div>
        )}
        <Card title={text.beforeSaving}>
          {!before && <AskAgent draft={draft} isDisabled={isBroken} />}
          <RouteTest draft={draft} {...(before && { before })} isDisabled={isBroken} />
          <RoutePreview draft={draft} {...(before && { before })} isDisabled={isBroken} />
        </Card>
      </Form>
    </div>
  );
}
