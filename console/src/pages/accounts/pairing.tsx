import { useState } from 'preact/hooks';
import { call, type Schemas, urlOf } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { Form, TextField } from '../../components/form.tsx';
import { Time } from '../../components/time.tsx';

/** How to link a phone: the QR code or the eight letters, and the change from one to the other. */
export function Pairing({ account, reload }: { account: Schemas['Account']; reload: () => void }) {
  const text = useTexts('accounts');
  const [isByCode, setByCode] = useState(false);
  const [phone, setPhone] = useState('');
  const path = { id: account.id };
  const pair = useAction(async (body: Schemas['Pair']) => {
    await call('POST /api/accounts/{id}/pair', { path, body });
    setByCode(false);
    reload();
  });
  return (
    <div class="pairing stack">
      {account.qr !== undefined && (
        <>
          <p>{text.scan}</p>
          <img
            class="qr"
            width="264"
            height="264"
            alt={text.qr}
            src={urlOf('GET /qr/image', {
              query: { account: account.id, code: shortHash(account.qr) },
            })}
          />
        </>
      )}
      {account.pairingCode !== undefined && (
        <>
          <p>{text.type}</p>
          <p class="pairing-code">{account.pairingCode}</p>
        </>
      )}
      {account.expiresAt && (
        <p class="faint">
          {text.expires} <Time at={account.expiresAt} />
        </p>
      )}
      {isByCode && (
        <Form
          onSubmit={() => void pair.run({ method: 'code', phone })}
          problem={pair.problem}
          actions={
            <Button type="submit" kind="main" isBusy={pair.isRunning}>
              {text.getCode}
            </Button>
          }
        >
          <TextField
            type="tel"
            label={text.phone}
            hint={text.phoneHint}
            value={phone}
            onInput={setPhone}
            isRequired
            takesFocus
          />
        </Form>
      )}
      <div class="actions">
        {account.qr === undefined && (
          <Button kind="main" isBusy={pair.isRunning} onClick={() => void pair.run({ method: 'qr' })}>
            {text.byQr}
          </Button>
        )}
        {!isByCode && <Button onClick={() => setByCode(true)}>{text.byCode}</Button>}
      </div>
    </div>
  );
}

/** So that a new code is a new picture for the browser. */
function shortHash(text: string): string {
  let hash = 0;
  for (const character of text) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) | 0;
  return (hash >>> 0).toString(36);
}
