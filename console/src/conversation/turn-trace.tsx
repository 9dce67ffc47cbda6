import './conversation.css';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { call, type ResponseOf, type Schemas } from '../api/call.ts';
import { problemOf } from '../api/problem.ts';
import { hrefOf } from '../app/location.ts';
import { Reason, ServiceText } from '../translation/service-text.tsx';
import { useTranslation } from '../translation/use-translation.ts';
import type { Chat, Message, Received, Sent } from './chat-types.ts';
import { tickOf } from './conversation.ts';
import { Exchanges } from './exchanges.tsx';
import { kindKey, type TextKey, useText } from './texts.ts';
import { routeNameIn, suggestedLimitMs, type TraceStep, traceSteps } from './trace-steps.ts';

/** What became of one message: the rules that were checked, the agent with its attempts, and the answers. */
export function TurnTrace({
  chat,
  turn,
  messages,
}: {
  chat: Chat;
  turn: Received;
  messages: Iterable<Message>;
}) {
  const t = useText();
  const replies = [...messages].filter(
    (each): each is Sent => each.direction === 'outgoing' && each.messageId === turn.id,
  );
  const totalMs = turn.finishedAt && Date.parse(turn.finishedAt) - Date.parse(turn.receivedAt);
  const steps = traceSteps(turn.trace);
  const limitMs = suggestedLimitMs(turn.trace, turn.agentMs);
  return (
    <div class="turn-trace">
      <h3>{t('traceOf', { text: turn.text.slice(0, 60) || t(kindKey(turn.media?.kind ?? turn.kind)) })}</h3>
      <dl>
        <Fact name={t('state')} value={t(`state.${turn.state}` as TextKey)} />
        <Fact name={t('reason')} value={turn.reason && <Reason code={turn.reason} />} />
        <Fact name={t('error')} value={turn.error && <ServiceText text={turn.error} />} />
        {turn.routeId && (
          <>
            <dt>{t('route')}</dt>
            <dd>
              <a href={hrefOf(`/routes/${turn.routeId}`)}>
                {routeNameIn(turn.trace, turn.routeId) ?? turn.routeId}
              </a>
            </dd>
          </>
        )}
        <Fact
          name={t('agentTime')}
          value={turn.agentMs === undefined ? undefined : t('milliseconds', { ms: turn.agentMs })}
        />
        <Fact
          name={t('totalTime')}
          value={totalMs === undefined ? undefined : t('milliseconds', { ms: totalMs })}
        />
        <Fact name={t('attempts')} value={String(turn.attempts)} />
      </dl>
      {limitMs !== undefined && <p class="hint">{t('limitHint', { ms: limitMs })}</p>}
      <h4>{t('steps')}</h4>
      {steps.length === 0 ? <p class="hint">{t('noSteps')}</p> : <Steps steps={steps} />}
      {replies.length > 0 && (
        <>
          <h4>{t('answers')}</h4>
          <ul>
            {replies.map((reply) => (
              <li key={reply.id}>
                {reply.text.slice(0, 200) || reply.media?.kind}{' '}
                <span class="hint">{t(`tick.${tickOf(reply.state)}`)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      <Exchanges key={`exchanges ${turn.id}`} messageId={turn.id} />
      <Request key={turn.id} chat={chat} turn={turn} />
    </div>
  );
}

function Fact({ name, value }: { name: string; value?: ComponentChildren }) {
  if (value === undefined || value === '') return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}

/** The lines of a trace, with the requests to the agent. */
export function Steps({ steps }: { steps: readonly TraceStep[] }) {
  const { word } = useTranslation();
  return (
    <ol class="trace-steps">
      {steps.map((step, index) => (
        <li key={index}>
          <strong>{step.isWord ? word(step.title) : step.title}</strong>{' '}
          {step.outcome && <span class="badge">{word(step.outcome)}</span>}
          {step.sentence && (
            <p>
              <ServiceText text={step.sentence} phrase={step.phrase} code={step.outcome} />
            </p>
          )}
          {step.attempts.length > 0 && <Attempts attempts={step.attempts} />}
          {step.more && (
            <details>
              <summary>JSON</summary>
              <Json text={step.more} />
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}

function Attempts({ attempts }: { attempts: TraceStep['attempts'] }) {
  const { word } = useTranslation();
  return (
    <ul class="attempts">
      {attempts.map((attempt, index) => (
        <li key={index}>
          {Object.entries(attempt).map(([name, value]) => (
            <span key={name}>
              <b>{word(name)}</b> {name === 'disposition' ? word(String(value)) : String(value)}{' '}
            </span>
          ))}
        </li>
      ))}
    </ul>
  );
}

type MediaKind = NonNullable<Schemas['MessageToExplain']['media']>['kind'];
type Explanation = ResponseOf<'POST /api/routes/explain'>['data'];

/** The request that the agent gets for this message by the routes of now, without secrets. */
function Request({ chat, turn }: { chat: Chat; turn: Received }) {
  const t = useText();
  const [isOpen, setIsOpen] = useState(false);
  const [found, setFound] = useState<Explanation>();
  const [error, setError] = useState<string>();
  useEffect(() => {
    if (!isOpen) return;
    const { accountId, channelId } = chat;
    const media = turn.media && { kind: turn.media.kind as MediaKind, mimeType: turn.media.mimeType };
    const body = {
      ...{ accountId, channelId, text: turn.text, at: turn.receivedAt },
      ...(chat.isGroup && { from: turn.from }),
      ...(media && { media }),
    };
    call('POST /api/routes/explain', { body })
      .then(({ data }) => setFound(data))
      .catch((cause: unknown) => setError(problemOf(cause).message));
  }, [isOpen]);
  return (
    <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>{t('showRequest')}</summary>
      <p class="hint">{t('requestHint')}</p>
      {error && <p role="alert">{t('failedAction', { error })}</p>}
      {found && (
        <p>
          <ServiceText text={found.sentence} phrase={found.phrase} />
        </p>
      )}
      {found?.call !== undefined && <Json text={JSON.stringify(found.call, null, 2)} />}
    </details>
  );
}

function Json({ text }: { text: string }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled area needs the keyboard
  return <pre tabIndex={0}>{text}</pre>;
}
