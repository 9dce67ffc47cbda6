/** A person in a contact that was sent. */
export interface ContactCard {
  name: string;
  /** Digits with country code where WhatsApp knows the number, else as the sender's phone book has it. */
  phones: string[];
}

/** What a message contains besides text and a file. Texts are as the sender wrote them, bounded in size. */
export type MessageCard =
  | {
      kind: 'location';
      /** Degrees. */
      latitude: number;
      longitude: number;
      name?: string;
      address?: string;
      /** The first position of a location that the sender shares for a while; WhatsApp sends no later ones here. */
      isLive?: true;
    }
  | { kind: 'contacts'; contacts: ContactCard[] }
  /** `selectable` is how many options may be chosen; 0: any number. */
  | { kind: 'poll'; question: string; options: string[]; selectable: number }
  | {
      kind: 'event';
      name: string;
      description?: string;
      place?: string;
      startsAt?: string;
      isCanceled?: true;
    }
  /** The preview of a link in the text. */
  | { kind: 'link'; url: string; title?: string; description?: string }
  /** The answer to buttons or a list: the id that its sender gave the choice, and what the person saw. */
  | { kind: 'choice'; id: string; title?: string };

/** A card as one text, for an agent that gets a message without words. Pure. */
export function describeCard(card: MessageCard): string {
  switch (card.kind) {
    case 'location': {
      const where = [card.name, card.address].filter(Boolean).join(', ');
      const degrees = `(${card.latitude}, ${card.longitude})`;
      return `${card.isLive ? 'Live location' : 'Location'}: ${where ? `${where} ` : ''}${degrees}`;
    }
    case 'contacts':
      return card.contacts
        .map(({ name, phones }) => `Contact: ${[name, phones.join(', ')].filter(Boolean).join(', ')}`)
        .join('\n');
    case 'poll':
      return [`Poll: ${card.question}`, ...card.options.map((option) => `- ${option}`)].join('\n');
    case 'event': {
      const lines = [
        `${card.isCanceled ? 'Canceled event' : 'Event'}: ${card.name}`,
        card.startsAt && `Starts: ${card.startsAt}`,
        card.place && `Place: ${card.place}`,
        card.description,
      ];
      return lines.filter(Boolean).join('\n');
    }
    case 'link':
      return [card.title, card.description, card.url].filter(Boolean).join('\n');
    case 'choice':
      return card.title ?? card.id;
  }
}
