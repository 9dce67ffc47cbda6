import { useEffect } from 'preact/hooks';
import type { Schemas } from '../../api/call.ts';
import { useQuery } from '../../api/use-query.ts';
import { useMay } from '../../app/caller.tsx';
import { language, useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { useStored } from '../../app/stored.ts';
import { ServiceText } from '../../translation/service-text.tsx';

type Activity = Schemas['RouteActivity'];

/** The service asks agents again after a minute, and counts are stored once a minute. */
const RELOAD_MS = 30_000;

/** What the routes do, by their id; empty until the service has said it. */
export function useActivity(): ReadonlyMap<string, Activity> {
  const { data, reload } = useQuery('GET /api/routes/activity', {}, ['route']);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, RELOAD_MS);
    return () => clearInterval(timer);
  }, [reload]);
  return new Map(data?.data.map((each) => [each.routeId, each]));
}

/** Whether the agent of a route answers, as a dot and a word, with the reason when it does not. */
export function AgentHealth({
  route,
  activity,
}: {
  route: Schemas['Route'];
  activity: Activity | undefined;
}) {
  const text = useTexts('routes');
  if (route.damage !== undefined) return <Health mood="bad" word={text.health.damaged} />;
  if (!route.enabled || !activity) return null;
  const { agent, problem } = activity;
  if (!problem)
    return <Health mood={agent === 'answers' ? 'good' : 'quiet'} word={wordOf(text.health, agent)} />;
  return (
    <>
      <Health mood="bad" word={wordOf(text.health, problem.code)} />
      <span class="faint health-why">
        <ServiceText text={problem.message} phrase={problem.phrase} code={problem.code} />
      </span>
    </>
  );
}

function Health({ mood, word }: { mood: 'good' | 'quiet' | 'bad'; word: string }) {
  return <span class={`health ${mood}`}>{word}</span>;
}

/** Messages of 24 hours, and those that failed, which lead to the dead letters. */
export function DayCounts({ activity }: { activity: Activity | undefined }) {
  const text = useTexts('routes');
  const locale = useStored(language);
  const may = useMay();
  if (!activity) return null;
  const { messages, failures } = activity;
  const shown = (count: number) => count.toLocaleString(locale);
  const failed = <span class="badge bad">{text.failuresOfDay(shown(failures))}</span>;
  return (
    <span class="day-counts">
      {text.messagesOfDay(messages, shown(messages))}{' '}
      {failures > 0 && (may('messages:read') ? <a href={hrefOf('/dead-letters')}>{failed}</a> : failed)}
    </span>
  );
}

function wordOf(words: Readonly<Record<string, string>>, name: string): string {
  return words[name] ?? name;
}
