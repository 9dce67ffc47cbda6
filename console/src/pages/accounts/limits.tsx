import { useId, useState } from 'preact/hooks';
import type { Schemas } from '../../api/call.ts';
import { useQuery } from '../../api/use-query.ts';
import { language, useTexts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { useStored } from '../../app/stored.ts';
import { Loaded } from '../../components/states.tsx';
import { Time } from '../../components/time.tsx';
import { ServiceText } from '../../translation/service-text.tsx';

/** What limits an account: WhatsApp, the governor, and what waits for it. */
export function Limits({ account }: { account: Schemas['Account'] }) {
  const text = useTexts('accounts');
  const [isOpen, setOpen] = useState(account.state === 'restricted');
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{text.limitsOf}</summary>
      {isOpen && <Shown accountId={account.id} />}
    </details>
  );
}

function Shown({ accountId }: { accountId: string }) {
  const text = useTexts('accounts');
  const args = { path: { id: accountId } };
  const limits = useQuery('GET /api/accounts/{id}/limits', args, ['account', 'setting', 'delivery']);
  const outgoing = useQuery('GET /api/accounts/{id}', args, ['account', 'setting', 'delivery']).data?.data
    .outgoing;
  const count = useNumbers();
  return (
    <Loaded query={limits}>
      {({ data: { whatsapp, firstContacts, messages, quietHours } }) => (
        <div class="limits stack">
          {whatsapp.length === 0 && <p>{text.noWhatsApp}</p>}
          {whatsapp.map(({ kind, reason, phrase, until }) => (
            <div key={kind} class="notice busy">
              <strong>
                {text.whatsApp} <Time at={until} />
              </strong>
              <p>
                <ServiceText text={reason} phrase={phrase} />
              </p>
            </div>
          ))}
          {firstContacts ? (
            <>
              <Used label={text.inDay} used={firstContacts.inDay} most={firstContacts.perDay} />
              <Used label={text.inHour} used={firstContacts.inHour} most={firstContacts.perHour} />
              {firstContacts.warmUpUntil && (
                <p class="faint">
                  {text.warmUp(count(firstContacts.perDayLater))} <Time at={firstContacts.warmUpUntil} />.
                </p>
              )}
            </>
          ) : (
            <p>{text.noContactLimit}</p>
          )}
          <p>
            {messages.perSecond === 0
              ? text.noPace
              : text.pace(count(messages.perSecond), count(messages.burst))}
          </p>
          {quietHours && (
            <p>
              {text.quiet(quietHours.from, quietHours.to, quietHours.timeZone)}{' '}
              {quietHours.isNow && <strong>{text.quietNow}</strong>}
            </p>
          )}
          {outgoing && outgoing.queued > 0 && <p>{text.queued(count(outgoing.queued))}</p>}
          {outgoing?.delayed.map(({ why, phrase, messages: waiting, until }) => (
            <p key={why}>
              {text.delayed(count(waiting))} <ServiceText text={why} phrase={phrase} /> {text.firstLeaves}{' '}
              <Time at={until} />.
            </p>
          ))}
          <p>
            <a href={hrefOf('/settings/governor')}>{text.change}</a>
          </p>
        </div>
      )}
    </Loaded>
  );
}

function Used({ label, used, most }: { label: string; used: number; most: number }) {
  const text = useTexts('accounts');
  const count = useNumbers();
  const id = useId();
  return (
    <div class="used">
      <label for={id}>{label}</label>
      <span>{text.used(count(used), count(most))}</span>
      <progress id={id} max={most} value={Math.min(used, most)} />
    </div>
  );
}

function useNumbers(): (value: number) => string {
  const chosen = useStored(language);
  return (value) => new Intl.NumberFormat(chosen).format(value);
}
