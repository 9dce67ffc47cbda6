import './conversation.css';
import { useState } from 'preact/hooks';
import { call, type Schemas } from '../api/call.ts';
import { problemOf } from '../api/problem.ts';
import { useMay } from '../app/caller.tsx';
import { useText } from './texts.ts';
import { useTimes } from './times.ts';

type Exchange = Schemas['Exchange'];

/** What was sent to agents for a message and what came back, without secrets; loaded when a person opens it. */
export function Exchanges({ messageId }: { messageId: string }) {
  const t = useText();
  const [found, setFound] = useState<Exchange[]>();
  const [error, setError] = useState<string>();
  if (!useMay()('routes:read')) return null;
  const load = () => {
    call('GET /api/messages/{id}/exchanges', { path: { id: messageId } })
      .then(({ data }) => setFound(data))
      .catch((cause: unknown) => setError(problemOf(cause).message));
  };
  return (
    <details class="exchanges" onToggle={(event) => event.currentTarget.open && load()}>
      <summary>{t('exchanges')}</summary>
      <p class="hint">{t('exchangesHint')}</p>
      {error && <p role="alert">{t('failedAction', { error })}</p>}
      {found?.length === 0 && <p>{t('noExchanges')}</p>}
      <ol>
        {found?.map((exchange, index) => (
          <li key={index}>
            <ExchangeView exchange={exchange} />
          </li>
        ))}
      </ol>
    </details>
  );
}

function ExchangeView({ exchange }: { exchange: Exchange }) {
  const t = useText();
  const { second, duration } = useTimes();
  const { attempt, at, ms, request, response, fault } = exchange;
  return (
    <>
      <p>
        {attempt !== undefined && <strong>{t('attemptNumber', { attempt })} </strong>}
        <code>
          {request.method} {request.url}
        </code>{' '}
        {response && (
          <span class={response.status < 400 ? 'badge good' : 'badge bad'}>{response.status}</span>
        )}{' '}
        {fault && <span class="badge bad">{fault}</span>}{' '}
        <span class="hint">
          {second(at)}
          {ms !== undefined && ` · ${duration(ms)}`}
        </span>
      </p>
      <Side title={t('sent')} side={request} />
      {response && <Side title={t('received')} side={response} />}
    </>
  );
}

function Side({
  title,
  side,
}: {
  title: string;
  side: Exchange['request'] | NonNullable<Exchange['response']>;
}) {
  const t = useText();
  const { headers, body, bytes } = side;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return (
    <>
      <h3>
        {title}
        {bytes !== undefined && <span class="hint"> {t('byteCount', { bytes })}</span>}
      </h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled area needs the keyboard */}
      <pre tabIndex={0}>{[...lines, ...(body === undefined ? [] : ['', readable(body)])].join('\n')}</pre>
    </>
  );
}

/** JSON with line breaks; anything else as it is. */
function readable(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
