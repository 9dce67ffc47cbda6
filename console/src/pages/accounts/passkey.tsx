import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { Form, TextArea } from '../../components/form.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';

/** The steps of linking an account that WhatsApp asks for a passkey; the current one has its controls. */
export function Passkey(props: {
  account: Schemas['Account'];
  passkey: Schemas['PasskeyStep'];
  reload: () => void;
}) {
  const { account, passkey, reload } = props;
  const text = useTexts('accounts').passkey;
  const [answer, setAnswer] = useState('');
  const act = useAction(async (body: Schemas['Passkey']) => {
    await call('POST /api/accounts/{id}/passkey', { path: { id: account.id }, body });
    reload();
  });
  const copy = () =>
    navigator.clipboard.writeText(passkey.script ?? '').then(
      () => toast(text.copied, 'good'),
      () => toast(text.notCopied, 'bad'),
    );
  const isSigning = passkey.step === 'sign';
  return (
    <div class="passkey stack">
      <ol class="passkey-steps">
        <Step picture={<ScriptPicture />} isCurrent={isSigning}>
          <p>{text.copyStep}</p>
          {isSigning && (
            <div class="actions">
              <Button kind="main" onClick={() => void copy()}>
                {text.copy}
              </Button>
              <a class="button quiet" href="https://web.whatsapp.com" target="_blank" rel="noreferrer">
                {text.open}
              </a>
            </div>
          )}
          {isSigning && (
            <details>
              <summary>{text.show}</summary>
              <textarea class="code" rows={6} readOnly aria-label={text.show} value={passkey.script} />
            </details>
          )}
        </Step>
        <Step picture={<ConsolePicture />} isCurrent={isSigning}>
          <p>{text.runStep}</p>
        </Step>
        <Step picture={<KeyPicture />} isCurrent={isSigning}>
          <p>{text.signStep}</p>
          {isSigning && (
            <Form
              onSubmit={() => void act.run({ answer: answer.trim() })}
              problem={act.problem}
              actions={
                <Button type="submit" kind="main" isBusy={act.isRunning} isDisabled={answer.trim() === ''}>
                  {text.send}
                </Button>
              }
            >
              <TextArea label={text.answer} value={answer} onInput={setAnswer} rows={3} isCode />
            </Form>
          )}
        </Step>
        <Step picture={<ComparePicture />} isCurrent={!isSigning}>
          <p>{text.compareStep}</p>
          {passkey.step === 'phone' && <p role="status">{text.waiting}</p>}
          {passkey.step === 'finish' && <p role="status">{text.finishing}</p>}
          {passkey.code !== undefined && (
            <>
              <p class="pairing-code">{passkey.code.replace(/^(.{4})(.{4})$/, '$1-$2')}</p>
              <div class="actions">
                <Button kind="main" isBusy={act.isRunning} onClick={() => void act.run({ isSameCode: true })}>
                  {text.same}
                </Button>
                <Button
                  kind="danger"
                  isBusy={act.isRunning}
                  onClick={() => void act.run({ isSameCode: false })}
                >
                  {text.other}
                </Button>
              </div>
            </>
          )}
        </Step>
      </ol>
      {account.expiresAt && (
        <p class="faint">
          {text.until} <Time at={account.expiresAt} />
        </p>
      )}
    </div>
  );
}

function Step(props: { picture: ComponentChildren; isCurrent: boolean; children: ComponentChildren }) {
  return (
    <li aria-current={props.isCurrent ? 'step' : undefined}>
      <svg class="passkey-picture" viewBox="0 0 96 64" aria-hidden="true" focusable="false">
        {props.picture}
      </svg>
      <div>{props.children}</div>
    </li>
  );
}

/** Two sheets: a script is copied. */
const ScriptPicture = () => (
  <>
    <rect x="22" y="8" width="36" height="42" rx="4" />
    <rect class="front" x="36" y="16" width="36" height="42" rx="4" />
    <path d="M48 30l-5 6 5 6M60 30l5 6-5 6" />
  </>
);

/** A browser with its developer console open. */
const ConsolePicture = () => (
  <>
    <rect class="front" x="8" y="6" width="80" height="52" rx="4" />
    <path d="M8 17h80M8 36h80" />
    <circle cx="15" cy="11.5" r="1.5" />
    <circle cx="21" cy="11.5" r="1.5" />
    <path class="accent" d="M15 43l5 4-5 4M25 51h16" />
  </>
);

/** A key in a dialog with a button. */
const KeyPicture = () => (
  <>
    <rect class="front" x="14" y="6" width="68" height="52" rx="6" />
    <circle cx="36" cy="24" r="7" />
    <path d="M43 24h20v6M57 24v5" />
    <rect class="accent-back" x="26" y="40" width="44" height="10" rx="5" />
  </>
);

/** A phone and a page with the same code. */
const ComparePicture = () => (
  <>
    <rect class="front" x="8" y="12" width="46" height="36" rx="4" />
    <rect class="front" x="64" y="6" width="24" height="52" rx="4" />
    <path class="accent" d="M16 30h30M69 30h14" />
    <path d="M73 52h6" />
  </>
);
