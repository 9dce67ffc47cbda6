import type { proto } from '@whiskeysockets/baileys';
import type { SayRequest } from './control-requests.ts';
import type { WhatsAppEmulator } from './emulator.ts';
import { document, ephemeralText, extendedText, image, viewOnceImage } from './message-content.ts';
import type { Participants } from './participants.ts';
import type { Person } from './person.ts';
import type { Phone } from './phone.ts';

/** Sends a message of a person as a request asks. @returns the message's WhatsApp id */
export function sendRequested(
  participants: Participants,
  person: Person,
  request: SayRequest,
): Promise<string> {
  const { to, text, kind, quoted, ...options } = request;
  const content = kind === 'plain' ? text : contentOf(kind, text);
  return person.say(content, { ...options, quoted, to: participants.recipient(to) });
}

/** Participants and connections, for `GET /state`. */
export function stateOf(emulator: WhatsAppEmulator, participants: Participants) {
  return {
    url: emulator.url,
    accounts: participants.phones.map((phone) => accountState(emulator, phone)),
    people: participants.people.map(personState),
    groups: participants.groups,
    faults: { ...emulator.faults },
  };
}

/** A person as shown by the control API. */
export function personState(person: Person) {
  const { phone, pn, lid, pushName, habit } = person;
  return { phone, pn, lid, name: pushName, habit, received: person.received.length };
}

/** The bubbles of a person, without the raw messages. */
export function bubblesOf(person: Person) {
  return person.received.map(({ message: _, ...bubble }) => bubble);
}

function accountState(emulator: WhatsAppEmulator, { pn, lid, copies }: Phone) {
  const devices = emulator.linkedDevices(pn).map((device) => ({
    pn: device.pn,
    lid: device.lid,
    isOnline: device.isOnline,
    waiting: emulator.waitingFor(device.pn),
  }));
  return { pn, lid, devices, copies: copies.length };
}

function contentOf(kind: Exclude<SayRequest['kind'], 'plain'>, text: string): proto.IMessage {
  switch (kind) {
    case 'extended':
      return extendedText(text);
    case 'ephemeral':
      return ephemeralText(text);
    case 'image':
      return image(text);
    case 'view-once':
      return viewOnceImage(text);
    case 'document':
      return document('letter.pdf', text);
  }
}
