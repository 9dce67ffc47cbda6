import { useState } from 'preact/hooks';
import { useAction } from '../../api/use-action.ts';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Form, TextArea, TextField } from '../../components/form.tsx';
import { Badge, Card } from '../../components/page.tsx';
import type { Operation } from './document.ts';
import { Code } from './operation-view.tsx';
import { type Schema, sampleOf } from './schema-text.ts';
import { type CallAnswer, type CallInput, curlOf, sendCall } from './send-call.ts';

/** A form that calls an operation with the session of this browser, and shows the answer. */
export function TryIt({ operation, schemas }: { operation: Operation; schemas: Record<string, Schema> }) {
  const text = useTexts('api');
  const { method, parameters = [], requestBody } = operation;
  const content = requestBody?.content['application/json'];
  const sample = content && JSON.stringify(content.example ?? sampleOf(content.schema, schemas), null, 2);
  const [values, setValues] = useState<Record<string, string>>({});
  const [body, setBody] = useState(sample ?? '');
  const [problem, setProblem] = useState<string>();
  const [isAsked, setAsked] = useState(false);
  const [answer, setAnswer] = useState<CallAnswer>();
  const input: CallInput = { values, ...(content && body.trim() !== '' && { body }) };
  const send = useAction(async () => {
    setAnswer(undefined);
    setAnswer(await sendCall(operation, input));
  });
  const wrong = () => {
    const missing = parameters.find(({ name, required }) => required && !values[name]);
    if (missing) return text.missing(missing.name);
    try {
      if (input.body !== undefined) JSON.parse(input.body);
      return undefined;
    } catch {
      return text.notJson;
    }
  };
  const begin = () => {
    const found = wrong();
    setProblem(found);
    if (found !== undefined) return;
    if (method === 'GET') void send.run();
    else setAsked(true);
  };
  return (
    <Card title={text.tryIt}>
      <Form
        onSubmit={begin}
        isUnsaved={() => false}
        problem={send.problem}
        actions={
          <Button type="submit" kind="main" icon="play" isBusy={send.isRunning}>
            {text.send}
          </Button>
        }
      >
        {parameters.length > 0 && (
          <div class="fields">
            {parameters.map(({ name, required }) => (
              <TextField
                key={name}
                label={name}
                value={values[name] ?? ''}
                onInput={(value) => setValues({ ...values, [name]: value })}
                {...(required && { hint: text.required })}
              />
            ))}
          </div>
        )}
        {content && (
          <TextArea
            label={text.bodyText}
            rows={Math.min(20, Math.max(4, body.split('\n').length))}
            value={body}
            onInput={setBody}
            isCode
          />
        )}
        {problem !== undefined && (
          <div class="notice bad" role="alert">
            {problem}
          </div>
        )}
      </Form>
      {answer && <Answer answer={answer} />}
      <details class="api-curl">
        <summary>{text.curl}</summary>
        <p class="hint">{text.curlHint}</p>
        <Code text={curlOf(operation, input)} label={text.curl} />
      </details>
      {isAsked && (
        <ConfirmDialog
          title={text.confirm}
          action={text.send}
          confirm={() => send.run()}
          onClose={() => setAsked(false)}
        >
          <p>
            <code>
              {method} {operation.path}
            </code>
          </p>
          <p>{text.sendAsk}</p>
        </ConfirmDialog>
      )}
    </Card>
  );
}

function Answer({
  answer: { status, milliseconds, type, text: body, isCut, bytes },
}: {
  answer: CallAnswer;
}) {
  const text = useTexts('api');
  const mood = status >= 200 && status < 300 ? 'good' : status >= 500 ? 'bad' : 'busy';
  return (
    <div class="stack" role="status">
      <p>
        {text.answer}: <Badge mood={mood}>{status}</Badge>{' '}
        <span class="faint">
          {text.milliseconds(String(milliseconds))} · {type}
        </span>
      </p>
      {body === undefined ? (
        <p>{text.binary(type, String(bytes))}</p>
      ) : (
        body !== '' && <Code text={body} label={text.answer} />
      )}
      {isCut && <p class="hint">{text.cut}</p>}
    </div>
  );
}
