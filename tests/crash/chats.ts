import type { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import { createPerson, type Person } from '../whatsapp-emulator/person.ts';
import type { Phone } from '../whatsapp-emulator/phone.ts';

/**
 * WhatsApp moves the people of a chat, or the group, to the other address form. Their phones keep the Signal session or the
 * group key that they had under the former one.
 */
export function moveChat(emulator: WhatsAppEmulator, { kind, to, people }: Chat): void {
  if (kind !== 'group') {
    for (const person of people) person.moveTo(person.via === 'lid' ? 'pn' : 'lid');
    return;
  }
  const group = emulator.group(to);
  if (group) emulator.addGroup({ ...group, addressing: group.addressing === 'lid' ? 'pn' : 'lid' });
}

/** One chat with the account, as the transcript check sees it. */
export interface Chat {
  name: string;
  kind: 'number' | 'lid' | 'group';
  /** A person's phone number JID, or the group's JID. */
  key: string;
  /** The JID its writers send to. */
  to: string;
  /** The people who write in the chat and read every reply. */
  people: readonly Person[];
}

export interface ChatCounts {
  numbers: number;
  lids: number;
  groups: number;
}

/**
 * The chats of a run: people by number, people by LID, groups of three of both address forms. Every second person by number is
 * one whom WhatsApp has not moved to a LID yet.
 */
export function makeChats(emulator: WhatsAppEmulator, account: Phone, counts: ChatCounts): Chat[] {
  let people = 0;
  const person = (via: 'pn' | 'lid', hidden?: 'lid') => {
    people += 1;
    return createPerson(emulator, { phone: `346${String(70_000_000 + people)}`, via, hidden });
  };
  const direct = (kind: 'number' | 'lid', index: number): Chat => {
    const one = kind === 'lid' ? person('lid') : person('pn', index % 2 === 0 ? 'lid' : undefined);
    return { name: `${kind} ${index + 1}`, kind, key: one.pn, to: account.pn, people: [one] };
  };
  const group = (index: number): Chat => {
    const members = [person('pn'), person('lid'), person('pn')];
    const { jid } = createGroup(emulator, {
      subject: `Group ${index + 1}`,
      addressing: index % 2 === 0 ? 'lid' : 'pn',
      members: [...members, account],
    });
    return { name: `group ${index + 1}`, kind: 'group', key: jid, to: jid, people: members };
  };
  return [
    ...Array.from({ length: counts.numbers }, (_, index) => direct('number', index)),
    ...Array.from({ length: counts.lids }, (_, index) => direct('lid', index)),
    ...Array.from({ length: counts.groups }, (_, index) => group(index)),
  ];
}
