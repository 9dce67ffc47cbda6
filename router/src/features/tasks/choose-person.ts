import { type AliasesOf, type Caller, mayUseAccount, mayUseChat } from '../../core/access/caller.ts';
import { canonicalChannelId, parseJid } from '../../core/chat-id.ts';
import type { AccountControl } from '../../core/ports/account-control.ts';

export interface ChoosePersonDeps {
  accounts: Pick<AccountControl, 'get'>;
  aliasesOf: AliasesOf;
  /** The service's own account. */
  accountId: string;
}

/** `problem`, `refusal`: why not, as a sentence. */
export type PersonChoice =
  | { accountId: string; to: string }
  /** The caller's mistake. */
  | { problem: string }
  /** The caller may not. */
  | { refusal: string };

/** Whom a program wants to message or ask: a chat of an account of this service that its caller may use. */
export async function choosePerson(
  deps: ChoosePersonDeps,
  skill: 'message-person' | 'ask-person',
  given: { accountId?: string; to?: string },
  caller: Caller,
): Promise<PersonChoice> {
  const accountId = given.accountId ?? deps.accountId;
  // First: a key does not learn which other accounts exist.
  if (!mayUseAccount(caller, accountId)) return { refusal: 'The key may not use this account.' };
  if (accountId !== deps.accountId && !deps.accounts.get(accountId)) {
    return { problem: 'accountId is not a WhatsApp account of this service.' };
  }
  const to = given.to === undefined ? undefined : canonicalChannelId(given.to);
  if (to === undefined || to === '*') {
    return { problem: 'to must be one chat: a phone number with its country code or a JID.' };
  }
  if (skill === 'ask-person' && parseJid(to)?.kind === 'group') {
    return { problem: 'to must be a person: a group cannot be asked.' };
  }
  if (!(await mayUseChat(caller, { accountId, channelId: to }, deps.aliasesOf))) {
    return { refusal: 'The key may not use this chat.' };
  }
  return { accountId, to };
}
