import { useEffect, useState } from 'preact/hooks';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { TextField } from '../../components/form.tsx';
import { Badge, Card } from '../../components/page.tsx';
import { ErrorState } from '../../components/states.tsx';
import { ServiceText } from '../../translation/service-text.tsx';
import { useTranslation } from '../../translation/use-translation.ts';

/** The message is explained this long after the last key. */
const PAUSE_MS = 250;

/** A box in which a person types a message and sees which route it would take, and why. */
export function DryRun() {
  const text = useTexts('routes');
  const [from, setFrom] = useState('');
  const { word } = useTranslation();
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
                <Badge mood={result.decision === 'route' ? 'good' : 'busy'}>{word(result.decision)}</Badge>{' '}
                <ServiceText text={result.sentence} phrase={result.phrase} />
              </p>
              <ol>
                {result.trace.map(
                  ({ routeId, name, channelId, outcome, sentence, phrase, conditions = [] }) => (
                    <li key={routeId}>
                      <Badge mood={outcome === 'chosen' ? 'good' : 'quiet'}>{word(outcome)}</Badge>{' '}
                      <strong>{name ?? channelId}</strong> <ServiceText text={sentence} phrase={phrase} />
                      {conditions.length > 0 && (
                        <ul>
                          {conditions.map((each) => (
                            <li key={each.condition}>
                              {each.holds ? '✓' : '✗'} <code>{each.condition}</code>{' '}
                              <ServiceText text={each.sentence} phrase={each.phrase} />
                            </li>
                          ))}
                        </ul>
                      )}
                    </li>
                  ),
                )}
              </ol>
            </>
          )}
        </div>
      </div>
    </Card>
  );
}
