import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { call } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { type Need, useNeeds } from '../../app/needs.tsx';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Badge } from '../../components/page.tsx';
import { ErrorState, Loading } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import { addressOf, chatNameOf } from '../../conversation/conversation.ts';
import { DraftForm } from '../../conversation/draft-form.tsx';
import { filled } from '../../conversation/filled.ts';
import { ServiceText } from '../../translation/service-text.tsx';
import { replayAll } from '../dead-letters/replay-all.ts';

/** What needs the person: each with its act in place. */
export function NeedsList() {
  const text = useTexts('needs');
  const { all, problem } = useNeeds();
  const frame = useRef<HTMLElement>(null);
  const keys = (all ?? []).map(({ key }) => key);
  const focus = useFocusOfList(frame, keys);
  return (
    <section
      ref={frame}
      class="card needs"
      aria-labelledby="needs"
      onFocusIn={focus.entered}
      onKeyDown={focus.keyPressed}
    >
      <header class="card-head">
        <h2 id="needs" tabIndex={-1}>
          {text.title}
        </h2>
        <p role="status">{all && (all.length === 0 ? text.none : text.count(all.length))}</p>
      </header>
      {problem && <ErrorState problem={problem} />}
      {all === undefined && !problem && <Loading />}
      {keys.length > 0 && (
        <ul>
          {all?.map((need) => (
            <li key={need.key} data-need={need.key}>
              <NeedView need={need} />
            </li>
          ))}
        </ul>
      )}
      {keys.length > 1 && <p class="hint">{text.keys}</p>}
    </section>
  );
}

/** What a need says: it opens at its title. */
function Titled(props: { title: string; path: string; at?: string; children?: ComponentChildren }) {
  return (
    <>
      <div class="need-head">
        <h3>
          <a href={hrefOf(props.path)}>{props.title}</a>
        </h3>
        {props.at !== undefined && (
          <span class="faint">
            <Time at={props.at} />
          </span>
        )}
      </div>
      {props.children}
    </>
  );
}

/** Runs what answers a need, and says what it came to. */
function useAnswer(need: Need) {
  const { reload } = useNeeds();
  const { run, isRunning } = useAction(async (work: () => Promise<string>) => {
    try {
      toast(await work(), 'good');
      reload(need, true);
    } catch (error) {
      // Somebody else may have answered it.
      reload(need, false);
      throw error;
    }
  });
  return {
    isBusy: isRunning,
    /** @param work answers it; resolves with a sentence about it */
    answer: (work: () => Promise<string>) => run(work),
  };
}

function NeedView({ need }: { need: Need }) {
  switch (need.kind) {
    case 'account':
      return <AccountNeed need={need} />;
    case 'draft':
      return <DraftNeed need={need} />;
    case 'stranger':
      return <StrangerNeed need={need} />;
    case 'question':
      return <QuestionNeed need={need} />;
    case 'letters':
      return <LettersNeed need={need} />;
    case 'webhook':
      return <WebhookNeed need={need} />;
  }
}

type NeedOf<Kind extends Need['kind']> = Extract<Need, { kind: Kind }>;

function DraftNeed({ need }: { need: NeedOf<'draft'> }) {
  const text = useTexts('needs');
  const { draft } = need;
  const { answer, isBusy } = useAnswer(need);
  return (
    <Titled title={text.draft(chatNameOf(draft))} path={`/chats/${draft.chatId}`} at={draft.createdAt}>
      <DraftForm
        draft={draft}
        isBusy={isBusy}
        act={(work, decision) => void answer(async () => work().then(() => text[decision]))}
      />
    </Titled>
  );
}

function StrangerNeed({ need }: { need: NeedOf<'stranger'> }) {
  const text = useTexts('needs');
  const words = useTexts('chats');
  const { id, name, lastMessage, lastReceivedAt, isLocked, ...address } = need.chat;
  const { answer, isBusy } = useAnswer(need);
  const who = name ?? addressOf(address);
  const path = { id };
  const decide = (verb: 'approve' | 'refuse', done: string) =>
    void answer(async () => {
      await call(`POST /api/chats/{id}/${verb}`, { path });
      return done;
    });
  return (
    <Titled
      title={text.stranger(who)}
      path={`/chats/${id}`}
      {...(lastReceivedAt !== undefined && { at: lastReceivedAt })}
    >
      {lastMessage && !isLocked && lastMessage.text !== '' && <blockquote>{lastMessage.text}</blockquote>}
      <div class="actions">
        <Button kind="main" isBusy={isBusy} onClick={() => decide('approve', text.approved)}>
          {words.approve}
        </Button>
        <Button isDisabled={isBusy} onClick={() => decide('refuse', text.refused)}>
          {words.refuse}
        </Button>
      </div>
    </Titled>
  );
}

function QuestionNeed({ need }: { need: NeedOf<'question'> }) {
  const text = useTexts('needs');
  const words = useTexts('deadLetters');
  const { id, name, question, lastMessage, isLocked, ...address } = need.chat;
  const path = `/chats/${id}`;
  return (
    <Titled
      title={text.question(name ?? addressOf(address))}
      path={path}
      {...(question && { at: question.askedAt })}
    >
      {lastMessage && !isLocked && lastMessage.text !== '' && <blockquote>{lastMessage.text}</blockquote>}
      {question && (
        <p>
          {text.closes} <Time at={question.until} />.
        </p>
      )}
      <div class="actions">
        <a class="button main" href={hrefOf(path)}>
          {words.chat}
        </a>
      </div>
    </Titled>
  );
}

function LettersNeed({ need }: { need: NeedOf<'letters'> }) {
  const text = useTexts('needs');
  const words = useTexts('deadLetters');
  const [isAsking, setAsking] = useState(false);
  const { answer, isBusy } = useAnswer(need);
  const { reason, count, error, phrase, newestAt } = need.group;
  const close = () =>
    answer(async () => {
      const body = { reason, until: newestAt };
      const { closed } = await call('POST /api/dead-letters/close', { body });
      return text.closed(closed);
    });
  const replay = () => answer(async () => filled(words.replayedSome, { count: await replayAll(reason) }));
  return (
    <Titled title={`${text.letters(count)}: ${reason}`} path="/dead-letters" at={newestAt}>
      <p>
        <ServiceText text={error} phrase={phrase} code={reason} />
      </p>
      <div class="actions">
        <Button kind="main" isBusy={isBusy} onClick={() => setAsking(true)}>
          {text.replayAll}
        </Button>
        <Button isDisabled={isBusy} onClick={() => void close()}>
          {text.closeAll}
        </Button>
      </div>
      {isAsking && (
        <ConfirmDialog
          title={words.replay}
          action={words.replay}
          confirm={replay}
          onClose={() => setAsking(false)}
        >
          <p>{filled(words.confirm, { count })}</p>
        </ConfirmDialog>
      )}
    </Titled>
  );
}

/** States that end when the connection is made again; the others need a phone. */
const RESTARTED: ReadonlySet<string> = new Set(['replaced', 'proxy-failed', 'outdated', 'waiting']);

function AccountNeed({ need }: { need: NeedOf<'account'> }) {
  const text = useTexts('needs');
  const words = useTexts('accounts');
  const { id, state, since, reason, phrase } = need.account;
  const { answer, isBusy } = useAnswer(need);
  const restart = () =>
    answer(async () => {
      await call('POST /api/accounts/{id}/restart', { path: { id } });
      return words.restarted;
    });
  return (
    <Titled title={text.account(id)} path="/accounts" at={since}>
      <p>
        <Badge mood="bad">{words.states[state]}</Badge> {words.nextActions[state]}
      </p>
      {reason !== undefined && (
        <p class="faint">
          <ServiceText text={reason} phrase={phrase} />
        </p>
      )}
      <div class="actions">
        {RESTARTED.has(state) ? (
          <Button kind="main" isBusy={isBusy} onClick={() => void restart()}>
            {words.restart}
          </Button>
        ) : (
          <a class="button main" href={hrefOf('/accounts')}>
            {text.link}
          </a>
        )}
      </div>
    </Titled>
  );
}

function WebhookNeed({ need }: { need: NeedOf<'webhook'> }) {
  const text = useTexts('needs');
  const words = useTexts('webhooks');
  const { id, url, enabled, failures, failingSince, disabledReason, pausedUntil, waiting } = need.webhook;
  const { answer, isBusy } = useAnswer(need);
  // Switching it on ends its pause.
  const tryNow = () =>
    answer(async () => {
      await call('PATCH /api/webhooks/{id}', { path: { id }, body: { enabled: true } });
      return text.tried;
    });
  return (
    <Titled
      title={text.webhook(url)}
      path={`/webhooks/${id}`}
      {...(failingSince !== undefined && { at: failingSince })}
    >
      <p>
        <Badge mood="bad">{enabled ? words.failing : words.off}</Badge>{' '}
        {enabled ? `${words.failures(failures)}. ` : disabledReason}
        {pausedUntil !== undefined && (
          <>
            {words.paused} <Time at={pausedUntil} />.
          </>
        )}{' '}
        {waiting > 0 && `${words.waiting(waiting)}.`}
      </p>
      <div class="actions">
        <Button kind="main" isBusy={isBusy} onClick={() => void tryNow()}>
          {enabled ? text.tryNow : words.switchOn}
        </Button>
      </div>
    </Titled>
  );
}

const DOWN = new Set(['j', 'ArrowDown']);
const UP = new Set(['k', 'ArrowUp']);

/** Moves the focus between the needs by key, and to the next one when that with the focus is answered. */
function useFocusOfList(frame: { current: HTMLElement | null }, keys: readonly string[]) {
  const at = useRef<{ key: string; index: number }>(undefined);
  const focus = (index: number) => {
    const key = keys[Math.max(0, Math.min(index, keys.length - 1))];
    const item = frame.current?.querySelector(`[data-need=${JSON.stringify(key ?? '')}]`);
    const target = item
      ? item.querySelector<HTMLElement>('a')
      : frame.current?.querySelector<HTMLElement>('h2');
    target?.focus();
  };
  useLayoutEffect(() => {
    const last = at.current;
    if (!last) return;
    const index = keys.indexOf(last.key);
    const isLost = !document.activeElement || document.activeElement === document.body;
    if (index >= 0) at.current = { ...last, index };
    else at.current = undefined;
    // What was answered has taken the focus with it; or its button waits for the service.
    if (isLost && index < 0) focus(last.index);
  });
  const entered = ({ target }: FocusEvent) => {
    const key = (target as HTMLElement).closest<HTMLElement>('[data-need]')?.dataset.need;
    at.current = key === undefined ? undefined : { key, index: keys.indexOf(key) };
  };
  const keyPressed = (event: KeyboardEvent) => {
    const { target, key, ctrlKey, metaKey, altKey } = event;
    const step = DOWN.has(key) ? 1 : UP.has(key) ? -1 : 0;
    if (step === 0 || ctrlKey || metaKey || altKey || (target as HTMLElement).closest('textarea, dialog'))
      return;
    event.preventDefault();
    focus(at.current === undefined ? 0 : at.current.index + step);
  };
  return { entered, keyPressed };
}
