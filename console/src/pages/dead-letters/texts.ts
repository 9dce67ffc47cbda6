import { texts } from '../../app/language.ts';
import { filled } from '../../conversation/filled.ts';

const en = {
  title: 'Dead letters',
  intro: 'Messages and replies that were given up. Replay them after the cause is repaired.',
  state: 'Show',
  open: 'Open',
  replayed: 'Replayed',
  closed: 'Closed',
  groups: 'By reason',
  reason: 'Reason',
  count: 'Number',
  newest: 'Newest',
  lastError: 'Error of the newest',
  all: 'All reasons',
  none: 'Nothing was given up.',
  noneOfState: 'No dead letters.',
  loading: 'Loading…',
  letters: 'Dead letters',
  lettersOf: 'Dead letters with the reason {reason}',
  replay: 'Replay',
  replayGroup: 'Replay all {count} with the reason {reason}',
  replayAll: 'Replay all ({count})',
  confirm: 'Replay {count} dead letters? Their messages are answered again, and their replies sent again.',
  cancel: 'Cancel',
  close: 'Close',
  closeHint: 'A closed dead letter no longer counts.',
  replayedSome: '{count} replayed.',
  replayedOne: 'Replayed.',
  closedOne: 'Closed.',
  more: 'Load more',
  message: 'Message received',
  reply: 'Message not sent',
  failedAt: 'Failed',
  firstFailed: 'First failed',
  attempts: 'Attempts',
  chat: 'Open the chat',
  tried: 'What was tried',
  noTrace: 'No steps are stored.',
  meaning: 'What this reason means',
  failedAction: 'It did not work: {error}',
};

const es: typeof en = {
  title: 'Mensajes fallidos',
  intro: 'Mensajes y respuestas abandonados. Repítalos cuando la causa esté reparada.',
  state: 'Mostrar',
  open: 'Abiertos',
  replayed: 'Repetidos',
  closed: 'Cerrados',
  groups: 'Por motivo',
  reason: 'Motivo',
  count: 'Número',
  newest: 'El más nuevo',
  lastError: 'Error del más nuevo',
  all: 'Todos los motivos',
  none: 'No se abandonó nada.',
  noneOfState: 'No hay mensajes fallidos.',
  loading: 'Cargando…',
  letters: 'Mensajes fallidos',
  lettersOf: 'Mensajes fallidos con el motivo {reason}',
  replay: 'Repetir',
  replayGroup: 'Repetir los {count} con el motivo {reason}',
  replayAll: 'Repetir todos ({count})',
  confirm:
    '¿Repetir {count} mensajes fallidos? Se responde otra vez a los mensajes y se envían otra vez las respuestas.',
  cancel: 'Cancelar',
  close: 'Cerrar',
  closeHint: 'Un mensaje fallido cerrado ya no cuenta.',
  replayedSome: '{count} repetidos.',
  replayedOne: 'Repetido.',
  closedOne: 'Cerrado.',
  more: 'Cargar más',
  message: 'Mensaje recibido',
  reply: 'Mensaje no enviado',
  failedAt: 'Falló',
  firstFailed: 'Falló por primera vez',
  attempts: 'Intentos',
  chat: 'Abrir el chat',
  tried: 'Qué se intentó',
  noTrace: 'No hay pasos guardados.',
  meaning: 'Qué significa este motivo',
  failedAction: 'No funcionó: {error}',
};

/** The key of a text of the page. */
export type TextKey = keyof typeof en;

const useTexts = texts<typeof en>(en, es);

/** A function that returns a text of the page in the chosen language, with its values. */
export function useText(): (key: TextKey, values?: Record<string, string | number>) => string {
  const all = useTexts();
  return (key, values) => filled(all[key], values);
}
