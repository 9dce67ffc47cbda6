import { useEffect, useState } from 'preact/hooks';
import type { Schemas } from '../../api/call.ts';
import { useQuery } from '../../api/use-query.ts';
import { language, useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { useStored } from '../../app/stored.ts';
import { Button } from '../../components/button.tsx';
import { Loaded } from '../../components/states.tsx';
import { Charts } from './charts.tsx';
import { durationText, numberText, trendText } from './numbers.ts';

const SPANS = ['1h', '24h', '30d'] as const;
export type Span = (typeof SPANS)[number];

/** Nodes store their counts once a minute. */
const RELOAD_MS = 60_000;

/** Numbers about the service, each a link to what it counts, and charts of the period. */
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
            <Figures stats={data} />
            <Now {...props} now={data.now} />
            <Charts stats={data} />
          </>
        )}
      </Loaded>
    </section>
  );
}

/** Of the period, each with what it was in the same time before. */
function Figures({ stats: { total, before } }: { stats: Schemas['Stats'] }) {
  const text = useTexts('start');
  const chosen = useStored(language);
  const count = (value: number | undefined) => (value === undefined ? '–' : numberText(value, chosen));
  const duration = (value: number | undefined) => durationText(value, chosen);
  const figures = [
    { path: '/chats', label: text.messages, of: 'messages', write: count },
    { path: '/chats', label: text.p50, of: 'p50Ms', write: duration },
    { path: '/chats', label: text.p95, of: 'p95Ms', write: duration },
    { path: '/dead-letters', label: text.failures, of: 'failures', write: count },
  ] as const;
  return (
    <ul class="figures">
      {figures.map(({ path, label, of, write }) => {
        const trend = trendText(total[of], before[of], chosen);
        return (
          <li key={label}>
            <a class="card figure" href={hrefOf(path)}>
              <span class="figure-label">{label}</span>
              <strong class={of === 'failures' && total.failures > 0 ? 'attention' : ''}>
                {write(total[of])}
              </strong>
              <span class="faint">
                {trend !== undefined && <b>{trend} </b>}
                {before.messages > 0 ? text.before(write(before[of])) : text.noBefore}
              </span>
            </a>
          </li>
        );
      })}
    </ul>
  );
}

/** How it is at this moment, in a line; each part leads to its page. */
function Now(props: {
  accounts: Array<Schemas['Account']> | undefined;
  routes: number | undefined;
  now: Schemas['Stats']['now'];
}) {
  const text = useTexts('start');
  const chosen = useStored(language);
  const nodes = useQuery('GET /api/nodes', {}, ['account']).data?.data;
  const { now } = props;
  const whatsApp = props.accounts?.filter(({ provider }) => provider === undefined);
  const connected = whatsApp?.filter(({ isConnected }) => isConnected).length;
  const alive = nodes?.filter(({ state }) => state !== 'gone').length;
  const count = (value: number | undefined) => (value === undefined ? '–' : numberText(value, chosen));
  const outOf = (some: number | undefined, all: number | undefined) =>
    some === all ? count(some) : `${count(some)} / ${count(all)}`;
  const parts = [
    { path: '/chats', query: { show: 'unanswered' }, label: text.waiting, value: count(now.waiting) },
    { path: '/dead-letters', label: text.letters, value: count(now.deadLetters), isBad: now.deadLetters > 0 },
    {
      path: '/accounts',
      label: text.accounts,
      value: outOf(connected, whatsApp?.length),
      isBad: connected !== whatsApp?.length,
    },
    {
      path: '/settings/nodes',
      label: text.nodes,
      value: outOf(alive, nodes?.length),
      isBad: alive !== nodes?.length,
    },
    { path: '/routes', label: text.routes, value: count(props.routes) },
  ];
  return (
    <ul class="now" aria-label={text.now}>
      {parts.map(({ path, query, label, value, isBad }) => (
        <li key={label}>
          <a href={hrefOf(path, query)}>
            {label}: <b class={isBad ? 'attention' : ''}>{value}</b>
          </a>
        </li>
      ))}
    </ul>
  );
}
