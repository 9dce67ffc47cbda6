import { randomInt } from 'node:crypto';
import type { Actor, Addressing, GroupInfo, ServerSide } from './actors.ts';

/** The properties of a new group. */
export interface GroupOptions {
  subject: string;
  /** people and phones of accounts; the first is the admin */
  members: readonly Pick<Actor, 'pn' | 'lid' | 'hidden' | 'username'>[];
  /** the form in which members appear; `lid`, as new groups have it, unless given */
  addressing?: Addressing;
  /** `<digits>@g.us`; a fresh one unless given */
  jid?: string;
}

/** Creates a group, or replaces the one with the same JID: people who are no longer members have left. */
export function createGroup(server: ServerSide, options: GroupOptions): GroupInfo {
  const group: GroupInfo = {
    jid: options.jid ?? newGroupJid(),
    subject: options.subject,
    addressing: options.addressing ?? 'lid',
    createdAtMs: Date.now(),
    members: options.members.map(({ pn, lid, hidden, username }, index) => ({
      pn,
      lid,
      hidden,
      username,
      isAdmin: index === 0,
    })),
  };
  server.addGroup(group);
  return group;
}

function newGroupJid(): string {
  const digits = Array.from({ length: 5 }, () => String(randomInt(1_000)).padStart(3, '0'));
  return `120363${digits.join('').slice(0, 12)}@g.us`;
}
