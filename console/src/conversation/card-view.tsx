import type { Card } from './chat-types.ts';
import { useText } from './texts.ts';
import { useTimes } from './times.ts';

/** A location, contacts, a poll, an event, the preview of a link or a choice, as a phone shows it. */
export function CardView({ card }: { card: Card }) {
  const t = useText();
  const { full } = useTimes();
  switch (card.kind) {
    case 'location': {
      const { latitude, longitude, name, address, isLive } = card;
      const place = `${latitude}, ${longitude}`;
      const map = `https://www.openstreetmap.org/?mlat=${Number(latitude)}&mlon=${Number(longitude)}#map=16/${Number(latitude)}/${Number(longitude)}`;
      return (
        <span class="bubble-card">
          <strong>{name || t(isLive ? 'liveLocation' : 'kind.location')}</strong>
          {address && <span>{address}</span>}
          <a href={map} target="_blank" rel="noreferrer">
            {place}
          </a>
        </span>
      );
    }
    case 'contacts':
      return (
        <span class="bubble-card">
          {card.contacts.map(({ name, phones, phone }, index) => (
            <span key={index}>
              <strong>{name}</strong> {(phones ?? [phone]).filter(Boolean).join(', ')}
            </span>
          ))}
        </span>
      );
    case 'poll':
      return (
        <span class="bubble-card">
          <strong>{card.question}</strong>
          <ul>
            {card.options.map((option, index) => (
              <li key={index}>{option}</li>
            ))}
          </ul>
          <span class="hint">{t(card.selectable === 1 ? 'pollOne' : 'pollSome')}</span>
        </span>
      );
    case 'event':
      return (
        <span class="bubble-card">
          <strong>{card.name}</strong>
          {card.isCanceled && <span>{t('canceled')}</span>}
          {card.startsAt && <time dateTime={card.startsAt}>{full(card.startsAt)}</time>}
          {card.place && <span>{card.place}</span>}
          {card.description && <span>{card.description}</span>}
        </span>
      );
    case 'link':
      return (
        <span class="bubble-card">
          {card.title && <strong>{card.title}</strong>}
          {card.description && <span>{card.description}</span>}
          <span class="hint">{card.url}</span>
        </span>
      );
    case 'choice':
      return (
        <span class="bubble-card">
          <strong>{card.title ?? card.id}</strong>
        </span>
      );
    default:
      return null;
  }
}
