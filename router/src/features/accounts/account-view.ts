import { z } from 'zod';
import { ageDaysOf } from '../../core/client-version.ts';
import { ACCOUNT_STATES } from '../../core/cluster/account-state.ts';
import { say } from '../../core/phrases.ts';
import { LIMIT_KINDS } from '../../core/ports/account-store.ts';
import type { AccountStatus } from '../../core/ports/chat-provider.ts';
import type { AccountControl } from '../../core/ports/cluster.ts';
import { shown, timeView } from '../../infra/operations/fields.ts';
import { invalid } from '../../infra/operations/form.ts';
import { HttpProblem, mistakeAt, phraseField } from '../../infra/operations/problem.ts';

const EXAMPLE = {
  id: 'default',
  accountId: 'default',
  state: 'open' as const,
  nextAction: 'Connected. Nothing to do.',
  isConnected: true,
  since: '2026-01-31T11:58:00.000Z',
  clientVersion: {
    version: '2.3000.1043857760',
    source: 'built-in' as const,
    since: '2026-07-25T00:00:00.000Z',
    ageDays: 12,
  },
  phone: '5493777111111',
  name: 'Shop',
  node: 'n-3f2a',
};

export const passkeyView = z
  .object({
    step: z
      .enum(['sign', 'phone', 'compare', 'finish'])
      .describe(
        '`sign`: the owner signs with the passkey. `phone`: the phone must continue. `compare`: the owner compares the code with the one on the phone. `finish`: WhatsApp links the account.',
      ),
    script: z
      .string()
      .optional()
      .describe(
        'In `sign`: JavaScript for the developer console of a browser at https://web.whatsapp.com. It signs and shows the answer.',
      ),
    options: z
      .string()
      .optional()
      .describe(
        'In `sign`: PublicKeyCredentialRequestOptions of WebAuthn as JSON, for a program that signs.',
      ),
    code: z.string().optional().describe('In `compare`: the eight letters that the phone must show too.'),
  })
  .meta({ id: 'PasskeyStep' })
  .describe('What WhatsApp waits for, in the state `passkey-required`. Needs the scope `accounts:manage`.');

/** A limit of WhatsApp on an account. */
export const limitView = z
  .object({
    kind: z
      .enum(LIMIT_KINDS)
      .describe(
        '`new-contacts`: messages to people who never wrote are locked · `new-chats`: WhatsApp counted too many new chats · `rate`: too many messages (429) · `connection`: WhatsApp refuses to connect.',
      ),
    reason: z.string(),
    phrase: phraseField,
    until: timeView,
  })
  .meta({ id: 'WhatsAppLimit' });

/** A WhatsApp account as responses show it. */
export const accountView = z
  .object({
    id: z.string(),
    accountId: z.string().describe('The earlier name of `id`, until the next version.'),
    provider: z
      .enum(['playground'])
      .optional()
      .describe('`playground`: an account with invented people. Absent: a WhatsApp account.'),
    state: z.enum(ACCOUNT_STATES),
    nextAction: z.string().describe('What a person should do now.'),
    isConnected: z
      .boolean()
      .optional()
      .describe('Connected to WhatsApp: in the state `open`, and usually in `restricted`.'),
    since: timeView.describe('When it changed to this state.'),
    reason: z.string().optional(),
    phrase: phraseField,
    qr: z
      .string()
      .optional()
      .describe('Raw text of the QR code, while pairing by QR. Needs the scope `accounts:manage`.'),
    pairingCode: z
      .string()
      .optional()
      .describe(
        'Eight letters to type on the phone, while pairing by code. Needs the scope `accounts:manage`.',
      ),
    passkey: passkeyView.optional(),
    expiresAt: timeView.optional().describe('When `qr`, `pairingCode` or the step of `passkey` expires.'),
    retryAt: timeView
      .optional()
      .describe(
        'When wa2ai connects again (`waiting`, `proxy-failed`), looks for a newer version (`outdated`), or when the limit of WhatsApp ends.',
      ),
    limits: z.array(limitView).optional().describe('Limits of WhatsApp that apply now; absent: none.'),
    problems: z
      .array(z.string())
      .optional()
      .describe('Problems with single messages or keys while the account works.'),
    problemPhrases: z
      .array(phraseField.unwrap().nullable())
      .optional()
      .describe('The phrase of each problem; null: it has none.'),
    clientVersion: z
      .object({
        version: z.string().describe('The version of WhatsApp Web that the last login announced.'),
        source: z
          .enum(['built-in', 'look-up', 'setting'])
          .describe(
            '`built-in`: part of Baileys · `look-up`: found at WhatsApp · `setting`: `WA2AI_WHATSAPP_VERSION`.',
          ),
        since: timeView.describe(
          'When WhatsApp built it; for a version that is not built in, when wa2ai first saw it.',
        ),
        ageDays: z.int().describe('WhatsApp refused earlier versions at 135 days.'),
        refusedSince: timeView.optional().describe('Since when WhatsApp refuses it; absent: it does not.'),
      })
      .optional()
      .describe('Absent before the first login of the node that runs the account.'),
    proxy: z
      .object({ url: z.string().describe('User name and password are shown as `***`.') })
      .optional()
      .describe(
        'The proxy that the account connects through. Absent: none, or no node runs the account. Needs the scope `accounts:manage`.',
      ),
    phone: z.string().optional(),
    lid: z.string().optional(),
    name: z.string().optional(),
    node: z.string().optional().describe('The node that runs the account; absent while none does.'),
  })
  .meta({
    id: 'Account',
    examples: [EXAMPLE],
  });

/** What an account has not sent. */
export const outgoingView = z.object({
  queued: z.int().describe('Messages that wait for their turn, or for a connection.'),
  delayed: z
    .array(
      z.object({
        why: z.string(),
        phrase: phraseField,
        messages: z.int(),
        until: timeView.describe('When the first of them may be sent.'),
      }),
    )
    .describe('Messages that wait for a time: the governor or WhatsApp limits the account.'),
});

/** A single account, with what it has not sent. */
export const accountDetailView = accountView
  .extend({
    outgoing: outgoingView
      .optional()
      .describe('What was not sent yet. Absent while the database does not answer.'),
  })
  .meta({
    id: 'AccountDetail',
    examples: [
      {
        ...EXAMPLE,
        outgoing: {
          queued: 0,
          delayed: [
            {
              why: 'It is a first contact, and the account may send 25 in an hour and 50 in 24 hours now.',
              messages: 3,
              until: '2026-01-31T12:40:00.000Z',
            },
          ],
        },
      },
    ],
  });

/**
 * An account for a caller who may only read it: anybody who has the code can link the account to another phone, and a proxy may
 * be inside of a private network.
 */
export function withoutCodes(status: AccountStatus): AccountStatus {
  const { qr: _qr, pairingCode: _code, passkey: _passkey, proxy: _proxy, ...rest } = status;
  return rest;
}

/** An account as responses show it. */
export function accountViewOf(status: AccountStatus): z.output<typeof accountView> {
  const { clientVersion, passkey } = status;
  return shown(accountView, {
    ...status,
    id: status.accountId,
    since: status.sinceMs,
    passkey: passkey?.step === 'sign' ? { ...passkey, script: passkeyScript(passkey.options) } : passkey,
    expiresAt: status.expiresAtMs,
    retryAt: status.retryAtMs,
    proxy: status.proxy === undefined ? undefined : { url: status.proxy },
    limits: status.limits?.map((limit) => ({ ...limit, until: limit.untilMs })),
    clientVersion: clientVersion && {
      ...clientVersion,
      since: clientVersion.sinceMs,
      ageDays: ageDaysOf(clientVersion, Date.now()),
      refusedSince: clientVersion.refusedSinceMs,
    },
  });
}

/** @throws {HttpProblem} 404: there is no account */
export function foundAccount(status: AccountStatus | undefined): AccountStatus {
  if (status) return status;
  throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-account'));
}

/**
 * Refuses an account that this service does not have, because nothing would use what is stored for it. `knownIds` are accepted
 * in any case.
 * @throws {HttpProblem} 400
 */
export function refuseUnknownAccount(
  accounts: AccountControl,
  accountId: string,
  ...knownIds: string[]
): void {
  if (knownIds.includes(accountId) || accounts.get(accountId)) return;
  throw invalid('body', [mistakeAt('accountId', say('field.not-account'))]);
}

/**
 * The script that a person runs in the developer console of a browser at https://web.whatsapp.com, the only origin where
 * a browser signs with a passkey of WhatsApp. It shows a button, because browsers want a click before they sign and copy,
 * and then the answer. It sends nothing.
 * @param options PublicKeyCredentialRequestOptions as JSON, base64url in place of bytes
 */
function passkeyScript(options: string): string {
  return `(${SCRIPT.trim()})(${JSON.stringify(JSON.parse(options))});`;
}

const SCRIPT = `
async (options) => {
  const isSpanish = navigator.language.startsWith('es');
  const bytesOf = (text) =>
    Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (letter) => letter.charCodeAt(0));
  const textOf = (bytes) =>
    btoa(String.fromCharCode(...new Uint8Array(bytes)))
      .replace(/[+]/g, '-').replace(/[/]/g, '_').replace(/=+$/, '');
  const dialog = document.createElement('dialog');
  const add = (tag, text) => {
    const element = document.createElement(tag);
    element.textContent = text;
    element.style.cssText = 'display:block;width:100%;margin:0 0 12px;padding:8px;font:16px sans-serif;color:#111;box-sizing:border-box';
    if (tag === 'button') element.style.cssText += ';background:#0a6f4d;color:#fff;border:0;border-radius:8px;cursor:pointer';
    dialog.append(element);
    return element;
  };
  dialog.style.cssText = 'width:min(420px,90vw);padding:20px;border:0;border-radius:12px;background:#fff';
  add('p', isSpanish ? 'wa2ai: vincular con su llave de acceso de WhatsApp' : 'wa2ai: link with your WhatsApp passkey');
  const button = add('button', isSpanish ? 'Usar la llave de acceso' : 'Use passkey');
  const note = add('p', '');
  document.body.append(dialog);
  dialog.showModal();
  let answer;
  button.onclick = async () => {
    try {
      if (answer) {
        await navigator.clipboard.writeText(answer);
        note.textContent = isSpanish ? 'Copiada. Péguela en wa2ai.' : 'Copied. Paste it in wa2ai.';
        return;
      }
      const publicKey = {
        ...options,
        challenge: bytesOf(options.challenge),
        allowCredentials: (options.allowCredentials || []).map((each) => ({ ...each, id: bytesOf(each.id) })),
      };
      const { id, rawId, type, response } = await navigator.credentials.get({ publicKey });
      answer = JSON.stringify({
        id,
        rawId: textOf(rawId),
        type,
        response: {
          clientDataJSON: textOf(response.clientDataJSON),
          authenticatorData: textOf(response.authenticatorData),
          signature: textOf(response.signature),
          userHandle: response.userHandle ? textOf(response.userHandle) : null,
        },
      });
      button.textContent = isSpanish ? 'Copiar la respuesta' : 'Copy the answer';
      note.textContent = '';
      const area = add('textarea', answer);
      area.readOnly = true;
      area.rows = 5;
      area.setAttribute('aria-label', isSpanish ? 'Respuesta' : 'Answer');
    } catch (error) {
      note.textContent = String(error.message || error);
    }
  };
}
`;
