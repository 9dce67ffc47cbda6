import { useEffect, useState } from 'preact/hooks';
import type { Schemas } from '../../api/call.ts';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { TextField } from '../../components/form.tsx';
import { Badge, Card } from '../../components/page.tsx';
import { ErrorState } from '../../components/states.tsx';
import { ServiceText } from '../../translation/service-text.tsx';

/** The message is explained this long after the last key. */
const PAUSE_MS = 250;

/** What happens to routes that nothing was asked of. */
const UNCHECKED: readonly string[] = ['not-reached', 'other-environment'];

/** A box in which a person types a message and sees which route it would take, and why. */
export function DryRun() {
  const text = useTexts('routes');
  const [from, setFrom] = useState('');
  const [message, setMessage] = useState('');
  const [asked, setAsked] = useState<{ from: string; text: string }>();
  useEffect(() => {
    const isWritten = from !== '' && message !== '';
    const timer = setTimeout(() => setAsked(isWritten ? { from, text: message } : undefined), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [from, message]);
  const explained = useQuery('POST /api/routes/explain', asked ? { body: asked } : null, ['route']);
  const result = explained.data?.data;
  return (
    <Card title={text.dryRun}>
      <div class="stack">
        <p class="faint">{text.dryRunLead}</p>
        <div class="fields">
          <TextField
            type="tel"
            label={text.from}
            placeholder="+54 9 3777 239922"
            value={from}
            onInput={setFrom}
          />
          <TextField label={text.message} value={message} onInput={setMessage} />
        </div>
        <div aria-live="polite" class="stack">
          {asked && explained.problem && <ErrorState problem={explained.problem} />}
          {asked && result && (
            <>
              <p>
                <Badge mood={result.outcome === 'answer' ? 'good' : 'busy'}>
                  {result.outcome === 'answer' ? text.isAnswered : text.noAnswer}
                </Badge>{' '}
                <ServiceText text={result.sentence} phrase={result.phrase} />
              </p>
              <ol class="checked-routes">
                {result.trace
                  .filter(({ outcome }) => !UNCHECKED.includes(outcome))
                  .map((each) => (
                    <li key={each.routeId}>
                      <span aria-hidden="true">{each.outcome === 'chosen' ? '✓' : '✗'}</span>{' '}
                      <a href={hrefOf(`/routes/${each.routeId}`)}>{each.name ?? each.channelId}</a>{' '}
                      <Why step={each} />
                    </li>
                  ))}
              </ol>
            </>
          )}
        </div>
      </div>
    </Card>
  );
}

/** Why a route takes the message or does not: the conditions that do not hold, else a sentence. */
function Why({ step }: { step: Schemas['Explanation']['trace'][number] }) {
  const unmet = (step.conditions ?? []).filter(({ holds }) => !holds);
  const shown = unmet.length > 0 ? unmet : [step];
  return (
    <span class="faint">
      {shown.map((each) => (
        <span key={each.sentence}>
          <ServiceText text={each.sentence} phrase={each.phrase} />{' '}
        </span>
      ))}
    </span>
  );
}
