import { texts } from '../app/language.ts';
import { filled } from './filled.ts';

const en = {
  noMessages: 'No messages.',
  earlier: 'Load earlier messages',
  newest: 'Go to the newest messages',
  conversation: 'Conversation with {name}',
  trace: 'Trace',
  traceOf: 'Trace of “{text}”',
  noticeBy: 'wa2ai (notice)',
  answeredBy: 'Agent',
  program: 'Program',
  operator: 'By hand',
  owner: 'On the phone',
  edited: 'edited',
  deleted: 'deleted',
  'tick.draft': 'waits for approval',
  'tick.waiting': 'waiting to be sent',
  'tick.sent': 'sent',
  'tick.delivered': 'delivered',
  'tick.read': 'read',
  'tick.failed': 'not sent',
  'kind.text': 'Text',
  'kind.image': 'Picture',
  'kind.video': 'Video',
  'kind.audio': 'Sound',
  'kind.voice': 'Voice note',
  'kind.document': 'Document',
  'kind.sticker': 'Sticker',
  'kind.location': 'Location',
  'kind.contact': 'Contact',
  'kind.contacts': 'Contacts',
  'kind.poll': 'Poll',
  'kind.reaction': 'Reaction',
  'kind.undecryptable': 'Cannot be decrypted',
  'kind.other': 'Other message',
  download: 'Download',
  showFile: 'Show',
  fileGone: 'not stored any more',
  reactions: 'Reactions: {emojis}',
  state: 'Result',
  'state.received': 'waits for an answer',
  'state.answered': 'answered',
  'state.ignored': 'no answer',
  'state.dead': 'given up',
  route: 'Route',
  agentTime: 'Agent',
  totalTime: 'From receipt to result',
  milliseconds: '{ms} ms',
  attempts: 'Attempts',
  reason: 'Reason',
  error: 'Error',
  limitHint:
    'Requests ended at the time limit of the agent. If it needs longer, set “timeoutMs” in its part of the route, for example to {ms}.',
  steps: 'Steps',
  noSteps: 'No steps are stored.',
  exchanges: 'What was sent, and what came back',
  exchangesHint:
    'The requests to the agent and its answers as they were, without secrets and files. Long ones are cut.',
  noExchanges: 'No request is stored: none was made, storing is switched off, or it was too long ago.',
  attemptNumber: 'Attempt {attempt}',
  sent: 'Sent',
  received: 'Received',
  byteCount: '{bytes} bytes',
  requestHint: 'As the agent would get it by the routes of now, without secrets.',
  showRequest: 'The request by the routes of now',
  answers: 'Answers',
  failedAction: 'It did not work: {error}',
};

const es: typeof en = {
  noMessages: 'No hay mensajes.',
  earlier: 'Cargar mensajes anteriores',
  newest: 'Ir a los mensajes más nuevos',
  conversation: 'Conversación con {name}',
  trace: 'Traza',
  traceOf: 'Traza de «{text}»',
  noticeBy: 'wa2ai (aviso)',
  answeredBy: 'Agente',
  program: 'Programa',
  operator: 'A mano',
  owner: 'En el teléfono',
  edited: 'editado',
  deleted: 'eliminado',
  'tick.draft': 'espera aprobación',
  'tick.waiting': 'espera el envío',
  'tick.sent': 'enviado',
  'tick.delivered': 'entregado',
  'tick.read': 'leído',
  'tick.failed': 'no enviado',
  'kind.text': 'Texto',
  'kind.image': 'Imagen',
  'kind.video': 'Vídeo',
  'kind.audio': 'Sonido',
  'kind.voice': 'Nota de voz',
  'kind.document': 'Documento',
  'kind.sticker': 'Sticker',
  'kind.location': 'Ubicación',
  'kind.contact': 'Contacto',
  'kind.contacts': 'Contactos',
  'kind.poll': 'Encuesta',
  'kind.reaction': 'Reacción',
  'kind.undecryptable': 'No se puede descifrar',
  'kind.other': 'Otro mensaje',
  download: 'Descargar',
  showFile: 'Mostrar',
  fileGone: 'ya no está guardado',
  reactions: 'Reacciones: {emojis}',
  state: 'Resultado',
  'state.received': 'espera respuesta',
  'state.answered': 'respondido',
  'state.ignored': 'sin respuesta',
  'state.dead': 'abandonado',
  route: 'Ruta',
  agentTime: 'Agente',
  totalTime: 'De la recepción al resultado',
  milliseconds: '{ms} ms',
  attempts: 'Intentos',
  reason: 'Motivo',
  error: 'Error',
  limitHint:
    'Hubo peticiones que llegaron al tiempo límite del agente. Si necesita más, ponga «timeoutMs» en su parte de la ruta, por ejemplo {ms}.',
  steps: 'Pasos',
  noSteps: 'No hay pasos guardados.',
  exchanges: 'Qué se envió y qué se recibió',
  exchangesHint:
    'Las peticiones al agente y sus respuestas tal como fueron, sin secretos ni archivos. Las largas están cortadas.',
  noExchanges:
    'No hay peticiones guardadas: no se hizo ninguna, guardarlas está desactivado o ya pasó demasiado tiempo.',
  attemptNumber: 'Intento {attempt}',
  sent: 'Enviado',
  received: 'Recibido',
  byteCount: '{bytes} bytes',
  requestHint: 'Como la recibiría el agente según las rutas de ahora, sin secretos.',
  showRequest: 'La petición según las rutas de ahora',
  answers: 'Respuestas',
  failedAction: 'No funcionó: {error}',
};

/** The key of a text of a conversation. */
export type TextKey = keyof typeof en;

const useTexts = texts<typeof en>(en, es);

/** A function that returns a text of a conversation in the chosen language, with its values. */
export function useText(): (key: TextKey, values?: Record<string, string | number>) => string {
  const all = useTexts();
  return (key, values) => filled(all[key], values);
}

const KINDS = new Set([
  ...['text', 'image', 'video', 'audio', 'voice', 'document', 'sticker', 'location', 'contact', 'contacts'],
  ...['poll', 'reaction', 'undecryptable'],
]);

/** The key of the text for a kind of content. */
export function kindKey(kind: string): TextKey {
  return (KINDS.has(kind) ? `kind.${kind}` : 'kind.other') as TextKey;
}
