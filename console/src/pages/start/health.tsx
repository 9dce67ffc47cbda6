import { useEffect, useState } from 'preact/hooks';
import type { Schemas } from '../../api/call.ts';
import { useQuery } from '../../api/use-query.ts';
import { language, useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { useStored } from '../../app/stored.ts';
import { Button } from '../../components/button.tsx';
import { Loaded } from '../../components/states.tsx';
import { Charts } from './charts.tsx';
import { durationText, numberText } from './numbers.ts';

const SPANS = ['1h', '24h', '30d'] as const;
export type Span = (typeof SPANS)[number];

/** Nodes store their counts once a minute. */
const RELOAD_MS = 60_000;

/** Numbers about the service, each a link to what it counts, and charts of the time before. */
export function Health(props: {
  accounts: Array<Schemas['Account']> | undefined;
  routes: number | undefined;
}) {
  const text = useTexts('start');
  const [span, setSpan] = useState<Span>('1h');
  const stats = useQuery('GET /api/stats', { query: { span } }, ['account', 'dead-letter']);
  const { reload } = stats;
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, RELOAD_MS);
    return () => clearInterval(timer);
  }, [reload]);
  return (
    <section class="health" aria-labelledby="health">
      <header class="card-head">
        <h2 id="health">{text.health}</h2>
        <fieldset class="spans">
          <legend class="hidden">{text.span}</legend>
          {SPANS.map((each) => (
            <Button key={each} isPressed={each === span} onClick={() => setSpan(each)}>
              {text.spans[each]}
            </Button>
          ))}
        </fieldset>
      </header>
      <Loaded query={stats}>
        {({ data }) => (
          <>
            <Figures {...props} stats={data} />
            <Charts stats={data} />
          </>
        )}
      </Loaded>
    </section>
  );
}

function Figures(props: {
  accounts: Array<Schemas['Account']> | undefined;
  routes: number | undefined;
  stats: Schemas['Stats'];
}) {
  const text = useTexts('start');
  const chosen = useStored(language);
  const nodes = useQuery('GET /api/nodes', {}, ['account']).data?.data;
  const { total, now, span } = props.stats;
  const whatsApp = props.accounts?.filter(({ provider }) => provider === undefined);
  const connected = whatsApp?.filter(({ isConnected }) => isConnected).length;
  const alive = nodes?.filter(({ state }) => state !== 'gone').length;
  const count = (value: number | undefined) => (value === undefined ? '–' : numberText(value, chosen));
  const during = text.spans[span];
  const figures = [
    { path: '/chats', label: text.messages, value: count(total.messages), during },
    { path: '/chats', label: text.p50, value: durationText(total.p50Ms, chosen), during },
    { path: '/chats', label: text.p95, value: durationText(total.p95Ms, chosen), during },
    {
      path: '/dead-letters',
      label: text.failures,
      value: count(total.failures),
      during,
      isBad: total.failures > 0,
    },
    {
      path: '/chats',
      query: { show: 'unanswered' },
      label: text.waiting,
      value: count(now.waiting),
      during: text.now,
    },
    {
      path: '/dead-letters',
      label: text.letters,
      value: count(now.deadLetters),
      during: text.now,
      isBad: now.deadLetters > 0,
    },
    {
      path: '/accounts',
      label: text.accounts,
      value: connected === undefined ? '–' : `${connected} / ${whatsApp?.length}`,
      during: text.now,
      isBad: connected !== whatsApp?.length,
    },
    {
      path: '/settings/nodes',
      label: text.nodes,
      value: nodes === undefined || alive === nodes.length ? count(alive) : `${alive} / ${nodes.length}`,
      during: text.now,
      isBad: alive !== nodes?.length,
    },
    { path: '/routes', label: text.routes, value: count(props.routes), during: text.now },
  ];
  return (
    <ul class="figures">
      {figures.map(({ path, query, label, value, during: when, isBad }) => (
        <li key={label}>
          <a class="card figure" href={hrefOf(path, query)}>
            <span class="figure-label">{label}</span>
            <strong class={isBad ? 'attention' : ''}>{value}</strong>
            <span class="faint">{when}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}
