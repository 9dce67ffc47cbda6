/** A chat of the playground, as the page uses it. */
export interface PlayChat {
  id: string;
  kind: 'person' | 'group';
  name: string;
  channelId: string;
  people: Array<{ name: string; phone: string }>;
  routeId?: string;
}

/** A mention of the playground's account. */
export const ACCOUNT_TAG = '@999000000000';

/** The name of who wrote a message. */
export function authorOf({ people }: PlayChat, jid: string): string | undefined {
  return people.find(({ phone }) => jid.startsWith(`${phone}@`))?.name;
}
