import { useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { Badge } from '../../components/page.tsx';
import { ErrorState } from '../../components/states.tsx';
import { ServiceText } from '../../translation/service-text.tsx';
import { createBody, patchBody } from './route-bodies.ts';
import type { RouteDraft } from './route-draft.ts';
import { TryPart } from './try-part.tsx';

/** Probes the agent of a route as it is written, without running or storing it. */
export function RouteTest(props: { draft: RouteDraft; before?: Schemas['Route']; isDisabled: boolean }) {
  const { draft, before } = props;
  const text = useTexts('routes');
  const [found, setFound] = useState<Schemas['RouteProbe']>();
  const test = useAction(async () => {
    setFound(undefined);
    const { data } = before
      ? await call('POST /api/routes/{id}/test', {
          path: { id: before.id },
          body: patchBody(before, draft),
        })
      : await call('POST /api/routes/test', { body: createBody(draft) });
    setFound(data);
  });
  return (
    <TryPart
      title={text.test}
      hint={text.testHint}
      action={
        <Button
          icon="play"
          isBusy={test.isRunning}
          isDisabled={props.isDisabled}
          onClick={() => void test.run()}
        >
          {text.testAgent}
        </Button>
      }
    >
      <div aria-live="polite" class="stack">
        {test.problem && <ErrorState problem={test.problem} />}
        {found && <ProbeView probe={found} />}
      </div>
    </TryPart>
  );
}

function ProbeView({ probe }: { probe: Schemas['RouteProbe'] }) {
  const text = useTexts('routes');
  const { isProbed, findings, about, milliseconds } = probe;
  const isGood = findings.length === 0;
  return (
    <>
      <p>
        {isGood ? (
          <Badge mood={isProbed ? 'good' : 'quiet'}>{isProbed ? text.answers : text.notProbed}</Badge>
        ) : (
          <Badge mood="bad">{text.hasProblem}</Badge>
        )}{' '}
        <span class="faint">{milliseconds} ms</span>
      </p>
      <dl class="facts">
        {about?.version && (
          <>
            <dt>{text.version}</dt>
            <dd>{about.version}</dd>
          </>
        )}
        {about && about.capabilities.length > 0 && (
          <>
            <dt>{text.capabilities}</dt>
            <dd>{about.capabilities.join(', ')}</dd>
          </>
        )}
      </dl>
      {findings.map(({ code, message, phrase }) => (
        <div class="notice bad" key={code + message}>
          <strong>{code}</strong>
          <p>
            <ServiceText text={message} phrase={phrase} />
          </p>
        </div>
      ))}
    </>
  );
}
