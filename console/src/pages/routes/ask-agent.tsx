import { useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/form.tsx';
import { ErrorState } from '../../components/states.tsx';
import { ServiceText } from '../../translation/service-text.tsx';
import { createBody } from './route-bodies.ts';
import type { RouteDraft } from './route-draft.ts';
import { TryPart } from './try-part.tsx';

/** Sends a message to the agent of a route that is not saved, and shows the answer. */
export function AskAgent({ draft, isDisabled }: { draft: RouteDraft; isDisabled: boolean }) {
  const text = useTexts('routes');
  const [message, setMessage] = useState('');
  const [answer, setAnswer] = useState<Schemas['TestAnswer']>();
  const ask = useAction(async () => {
    setAnswer(undefined);
    const body = { route: createBody(draft), text: message };
    setAnswer((await call('POST /api/routes/ask', { body })).data);
  });
  const isReady = !isDisabled && message.trim() !== '' && !ask.isRunning;
  return (
    <TryPart title={text.testMessage} hint={text.testMessageHint}>
      <div class="ask-agent">
        <TextField
          label={text.message}
          value={message}
          onInput={setMessage}
          onEnter={() => isReady && void ask.run()}
        />
        <Button isBusy={ask.isRunning} isDisabled={!isReady} onClick={() => void ask.run()}>
          {text.sendTest}
        </Button>
      </div>
      <div aria-live="polite" class="stack">
        {ask.problem && <ErrorState problem={ask.problem} />}
        {answer && <AnswerView answer={answer} />}
      </div>
    </TryPart>
  );
}

function AnswerView({
  answer: { answer, isLater, files, problem, milliseconds },
}: {
  answer: Schemas['TestAnswer'];
}) {
  const text = useTexts('routes');
  if (problem) {
    return (
      <div class="notice bad">
        <strong>{problem.code}</strong>
        <p>
          <ServiceText text={problem.message} phrase={problem.phrase} code={problem.code} />
        </p>
      </div>
    );
  }
  return (
    <div class="notice">
      {answer !== undefined && <p class="answer">{answer}</p>}
      {answer === undefined && <p>{isLater ? text.answersLater : files === 0 && text.saysNothing}</p>}
      {files > 0 && <p>{text.answerFiles(files)}</p>}
      <p class="faint">{milliseconds} ms</p>
    </div>
  );
}
