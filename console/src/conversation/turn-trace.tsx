import './conversation.css';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { call, type ResponseOf, type Schemas } from '../api/call.ts';
import { problemOf } from '../api/problem.ts';
import { hrefOf } from '../app/location.ts';
import type { Phrase } from '../translation/en.ts';
import { Reason, reasonHref, ServiceText } from '../translation/service-text.tsx';
import { useTranslation } from '../translation/use-translation.ts';
import type { Message, Received } from './chat-types.ts';
import { tickOf } from './conversation.ts';
import { Exchanges } from './exchanges.tsx';
import { kindKey, type TextKey, useText } from './texts.ts';
import { type Timeline, type TimelineRow, timelineOf } from './timeline.ts';
import { useTimes } from './times.ts';
import { type Attempt, routeNameIn, suggestedLimitMs, type TraceStep } from './trace-steps.ts';
import { plainOf } from './whatsapp-marks.ts';

/** Of a message or an answer; the conversation has the rest. */
const MAX_CHARS = 200;

/**
 * What became of one message, as a timeline: why it waited, the rule that took it, the agent with its attempts, and the answers.
 * @param props.messages of the chat, as far as they are loaded
 */
export function TurnTrace({ turn, messages = [] }: { turn: Received; messages?: Iterable<Message> }) {
  const t = useText();
  const timeline = timelineOf(turn, messages);
  const hasAgent = timeline.rows.some(({ kind }) => kind === 'agent');
  return (
    <div class="turn-trace">
      <ol class="timeline">
        {timeline.rows.map((row, index) => (
          <Row key={index} row={row} turn={turn} timeline={timeline} />
        ))}
      </ol>
      {turn.trace === undefined && <p class="hint">{t('noSteps')}</p>}
      {!hasAgent && <Exchanges key={`exchanges ${turn.id}`} messageId={turn.id} />}
      <Request key={turn.id} turn={turn} />
    </div>
  );
}

/** The trace of a message by its id, loaded when it is shown. */
export function MessageTrace({ messageId }: { messageId: string }) {
  const t = useText();
  const [turn, setTurn] = useState<Received>();
  const [error, setError] = useState<string>();
  useEffect(() => {
    call('GET /api/messages/{id}', { path: { id: messageId } })
      .then(({ data }) => data.direction === 'incoming' && setTurn(data as Received))
      .catch((cause: unknown) => setError(problemOf(cause).message));
  }, [messageId]);
  if (error) return <p role="alert">{t('failedAction', { error })}</p>;
  return turn ? <TurnTrace turn={turn} /> : null;
}

interface RowProps<Kind extends TimelineRow['kind']> {
  row: Extract<TimelineRow, { kind: Kind }>;
  turn: Received;
  timeline: Timeline;
}

function Row({ row, ...rest }: { row: TimelineRow; turn: Received; timeline: Timeline }) {
  switch (row.kind) {
    case 'received':
      return <ReceivedRow row={row} {...rest} />;
    case 'waited':
      return <WaitedRow row={row} {...rest} />;
    case 'route':
      return <RouteRow row={row} {...rest} />;
    case 'step':
      return <StepRow row={row} {...rest} />;
    case 'agent':
      return <AgentRow row={row} {...rest} />;
    case 'result':
      return <ResultRow row={row} {...rest} />;
    case 'reply':
      return <ReplyRow row={row} {...rest} />;
  }
}

/** A line of the timeline. @param props.time when, or how long */
function Line(props: {
  mood?: 'good' | 'bad' | 'busy';
  title: ComponentChildren;
  time?: string | undefined;
  children?: ComponentChildren;
}) {
  const { mood, title, time, children } = props;
  return (
    <li class={mood ? `timeline-row ${mood}` : 'timeline-row'}>
      <p class="timeline-head">
        <strong>{title}</strong>
        {time && <span class="hint">{time}</span>}
      </p>
      {children}
    </li>
  );
}

/** How long something took and when, on the scale of the whole way; the words beside it say the same. */
function Bar({ timeline, fromMs, toMs }: { timeline: Timeline; fromMs: number; toMs: number }) {
  const wholeMs = timeline.endMs - timeline.beginMs;
  if (wholeMs <= 0) return null;
  const percent = (ms: number) => Math.min(100, Math.max(0, (ms / wholeMs) * 100));
  const left = percent(fromMs - timeline.beginMs);
  return (
    <div class="timeline-bar" aria-hidden="true">
      <span style={{ left: `${left}%`, width: `${Math.min(100 - left, percent(toMs - fromMs))}%` }} />
    </div>
  );
}

function ReceivedRow({ row, turn }: RowProps<'received'>) {
  const t = useText();
  const { second, duration, full } = useTimes();
  return (
    <Line title={t('received')} time={second(turn.receivedAt)}>
      <blockquote>
        {plainOf(turn.text).slice(0, MAX_CHARS) || t(kindKey(turn.media?.kind ?? turn.kind))}
      </blockquote>
      {row.lateMs !== undefined && turn.sentAt && (
        <p>{t('writtenBefore', { time: duration(row.lateMs), at: full(turn.sentAt) })}</p>
      )}
    </Line>
  );
}

function WaitedRow({ row, timeline }: RowProps<'waited'>) {
  const t = useText();
  const { duration } = useTimes();
  const { atMs, endMs, why } = row;
  if (endMs === undefined) {
    return (
      <Line title={t('waits')} mood="busy">
        <p>{t(why.includes('earlier') ? 'wait.earlier' : 'waitsNow')}</p>
      </Line>
    );
  }
  return (
    <Line title={t('waited')} time={duration(endMs - atMs)}>
      <Bar timeline={timeline} fromMs={atMs} toMs={endMs} />
      {why.map((reason) => (
        <p key={reason}>{t(`wait.${reason}`)}</p>
      ))}
    </Line>
  );
}

function RouteRow({ row: { chosen, others } }: RowProps<'route'>) {
  const t = useText();
  return (
    <Line
      mood={chosen ? 'good' : 'bad'}
      title={
        chosen ? (
          <>
            {t('route')}: <a href={hrefOf(`/routes/${chosen.routeId}`)}>{chosen.title}</a>
          </>
        ) : (
          t('noRule')
        )
      }
    >
      {chosen && <Said step={chosen} />}
      {others.length > 0 && (
        <details open={!chosen}>
          <summary>{t('otherRules', { count: others.length })}</summary>
          <ul class="timeline-rules">
            {others.map((rule, index) => (
              <li key={index}>
                <strong>{rule.title}</strong> <Outcome step={rule} />
                <Said step={rule} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </Line>
  );
}

function StepRow({ row: { step } }: RowProps<'step'>) {
  const t = useText();
  const { word } = useTranslation();
  return (
    <Line title={step.kind === 'call' ? t('callDetails') : word(step.title)}>
      <Outcome step={step} />
      <Said step={step} />
      <More text={step.more} />
    </Line>
  );
}

function AgentRow({ row: { step, calls, isLast }, turn, timeline }: RowProps<'agent'>) {
  const t = useText();
  const { duration } = useTimes();
  const { attempts, routeId, outcome } = step;
  const name = routeId && routeNameIn(turn.trace, routeId);
  const [first, last] = [attempts[0], attempts.at(-1)];
  const tookMs =
    first?.atMs === undefined || last?.atMs === undefined
      ? undefined
      : last.atMs + (last.ms ?? 0) - first.atMs;
  const limitMs = suggestedLimitMs(turn.trace, turn.agentMs);
  return (
    <Line
      mood={outcome === 'answered' ? 'good' : 'bad'}
      title={name ? t('agentOf', { name }) : t('agent')}
      time={tookMs === undefined ? undefined : duration(tookMs)}
    >
      {!attempts.some(({ error }) => error === step.sentence?.text) && <Said step={step} />}
      <ol class="timeline-attempts">
        {attempts.map((attempt, index) => (
          <li key={index}>
            <AttemptLine attempt={attempt} timeline={timeline} />
          </li>
        ))}
      </ol>
      {isLast && limitMs !== undefined && <p class="hint">{t('limitHint', { ms: limitMs })}</p>}
      {calls.map(({ more }, index) => (
        <More key={index} text={more} title={t('callDetails')} />
      ))}
      <More text={step.more} />
      {isLast && <Exchanges key={`exchanges ${turn.id}`} messageId={turn.id} />}
    </Line>
  );
}

function AttemptLine({ attempt, timeline }: { attempt: Attempt; timeline: Timeline }) {
  const t = useText();
  const { duration, second } = useTimes();
  const { number, atMs, ms, code, disposition, error, phrase, waitMs } = attempt;
  return (
    <>
      <p class="timeline-head">
        <span>
          {number === undefined ? t('notSent') : t('attemptNumber', { attempt: number })}{' '}
          {code && (
            <a class="badge bad" href={reasonHref(code)} target="_blank" rel="noreferrer">
              {code}
            </a>
          )}
        </span>
        <span class="hint">
          {[atMs !== undefined && second(new Date(atMs).toISOString()), ms !== undefined && duration(ms)]
            .filter(Boolean)
            .join(' · ')}
        </span>
      </p>
      {atMs !== undefined && ms !== undefined && <Bar timeline={timeline} fromMs={atMs} toMs={atMs + ms} />}
      {error && (
        <p>
          <ServiceText text={error} phrase={phrase} code={code} />
        </p>
      )}
      {waitMs !== undefined ? (
        <p class="hint">{t('nextAttempt', { time: duration(waitMs) })}</p>
      ) : (
        disposition &&
        disposition !== 'retry' && (
          <p class="hint">{t(disposition === 'uncertain' ? 'noRetryUncertain' : 'noRetry')}</p>
        )
      )}
    </>
  );
}

function ResultRow({ row, turn, timeline }: RowProps<'result'>) {
  const t = useText();
  const { duration } = useTimes();
  const { state, reason, error, phrase } = turn;
  const mood = state === 'answered' ? 'good' : state === 'dead' ? 'bad' : undefined;
  const tookMs = row.atMs === undefined ? undefined : row.atMs - Date.parse(turn.receivedAt);
  const attempts = timeline.rows.flatMap((each) => (each.kind === 'agent' ? each.step.attempts : []));
  const isSaid = attempts.some((attempt) => attempt.error === error);
  return (
    <Line
      {...(mood && { mood })}
      title={t(`state.${state}` as TextKey)}
      time={tookMs === undefined ? undefined : t('afterReceipt', { time: duration(tookMs) })}
    >
      {reason && !attempts.some(({ code }) => code === reason) && (
        <p>
          <Reason code={reason} />
        </p>
      )}
      {error && !isSaid && (
        <p>
          <ServiceText text={error} phrase={phrase} code={reason} />
        </p>
      )}
    </Line>
  );
}

const STATIONS = [
  ['sentAt', 'replySent'],
  ['ackedAt', 'replyAcked'],
  ['deliveredAt', 'replyDelivered'],
  ['readAt', 'replyRead'],
] as const;

function ReplyRow({ row: { reply }, turn, timeline }: RowProps<'reply'>) {
  const t = useText();
  const { duration, full } = useTimes();
  const tick = tickOf(reply.state);
  const words = plainOf(reply.text).slice(0, MAX_CHARS) || (reply.media && t(kindKey(reply.media.kind)));
  const atWhatsApp = reply.ackedAt ?? reply.sentAt;
  const queuedMs = Date.parse(reply.queuedAt);
  return (
    <Line
      mood={tick === 'failed' ? 'bad' : tick === 'draft' || tick === 'waiting' ? 'busy' : 'good'}
      title={t('reply')}
      time={atWhatsApp && duration(Date.parse(atWhatsApp) - queuedMs)}
    >
      {words && <blockquote>{words}</blockquote>}
      {atWhatsApp && <Bar timeline={timeline} fromMs={queuedMs} toMs={Date.parse(atWhatsApp)} />}
      <ul class="timeline-stations">
        {STATIONS.map(([field, key]) => {
          const at = reply[field];
          if (at === undefined) return null;
          return (
            <li key={field} class="timeline-head">
              <span>{t(key)}</span>
              <time class="hint" dateTime={at} title={full(at)}>
                {t('afterReceipt', { time: duration(Date.parse(at) - Date.parse(turn.receivedAt)) })}
              </time>
            </li>
          );
        })}
        {(tick === 'draft' || tick === 'waiting' || tick === 'failed') && <li>{t(`tick.${tick}`)}</li>}
        {reply.delayedUntil && tick === 'waiting' && (
          <li>{t('replyDelayed', { time: full(reply.delayedUntil) })}</li>
        )}
      </ul>
      {tick === 'failed' && reply.reason && (
        <p>
          <Reason code={reply.reason} />
        </p>
      )}
      {reply.error && (
        <p>
          <ServiceText text={reply.error} phrase={reply.phrase} code={reply.reason} />
        </p>
      )}
    </Line>
  );
}

function Outcome({ step: { outcome } }: { step: TraceStep }) {
  const { word } = useTranslation();
  return outcome === undefined ? null : <span class="badge">{word(outcome)}</span>;
}

/** What a step says, and the conditions that a rule asked for. */
function Said({ step: { sentence, outcome, conditions } }: { step: TraceStep }) {
  return (
    <>
      {sentence && (
        <p>
          <ServiceText text={sentence.text} phrase={sentence.phrase} code={outcome} />
        </p>
      )}
      {conditions.length > 0 && (
        <ul class="timeline-conditions">
          {conditions.map(({ text, phrase, holds }, index) => (
            <li key={index}>
              <span aria-hidden="true">{holds ? '✓' : '✗'}</span> <ServiceText text={text} phrase={phrase} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function More({ text, title = 'JSON' }: { text: string | undefined; title?: string }) {
  if (text === undefined) return null;
  return (
    <details>
      <summary>{title}</summary>
      <Json text={text} />
    </details>
  );
}

type MediaKind = NonNullable<Schemas['MessageToExplain']['media']>['kind'];
type Explanation = ResponseOf<'POST /api/routes/explain'>['data'];

/** The request that the agent gets for this message with the present routes, without secrets. */
function Request({ turn }: { turn: Received }) {
  const t = useText();
  const [isOpen, setIsOpen] = useState(false);
  const [found, setFound] = useState<Explanation>();
  const [error, setError] = useState<string>();
  useEffect(() => {
    if (!isOpen) return;
    const { accountId, channelId } = turn;
    const media = turn.media && { kind: turn.media.kind as MediaKind, mimeType: turn.media.mimeType };
    const body = {
      ...{ accountId, channelId, text: turn.text, at: turn.receivedAt },
      ...(channelId.endsWith('@g.us') && { from: turn.from }),
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
      {found?.call !== undefined && <AgentRequest call={found.call} />}
    </details>
  );
}

/** The request, or why there is none: an error of the settings. */
function AgentRequest({ call }: { call: NonNullable<Explanation['call']> }) {
  if (call.kind !== 'error') return <Json text={JSON.stringify(call, null, 2)} />;
  const { sentence, phrase } = call as { sentence: string; phrase?: Phrase };
  return (
    <p role="alert">
      <ServiceText text={sentence} phrase={phrase} />
    </p>
  );
}

function Json({ text }: { text: string }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled area needs the keyboard
  return <pre tabIndex={0}>{text}</pre>;
}
