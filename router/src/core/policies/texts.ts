import { parseJid } from '../chat-id.ts';

/** Languages of the texts that wa2ai itself sends. */
export const LANGUAGES = ['en', 'es', 'pt', 'de', 'fr'] as const;
export type Language = (typeof LANGUAGES)[number];

/** What wa2ai itself says to people. */
type TextName =
  | 'unsupported'
  | 'failed'
  | 'slow'
  | 'unreachable'
  | 'noAnswer'
  | 'new'
  | 'stop'
  | 'stopNone'
  | 'help'
  | 'helpAlso'
  | 'helpNew'
  | 'helpStop'
  | 'helpStatus'
  | 'helpHelp'
  | 'status'
  | 'statusApproving'
  | 'statusSince'
  | 'quota'
  | 'ownerAsk'
  | 'ownerAskGroup'
  | 'ownerApproved'
  | 'ownerRefused'
  | 'ownerUnknown'
  | 'ownerDraft'
  | 'ownerSent'
  | 'ownerDropped'
  | 'ownerNoDraft';

const TEXTS: Record<TextName, Record<Language, string>> = {
  unsupported: {
    en: 'I cannot open this kind of message here. Please write it as text.',
    es: 'Aquí no puedo abrir este tipo de mensaje. Escríbelo como texto, por favor.',
    pt: 'Não consigo abrir este tipo de mensagem aqui. Por favor, escreva em texto.',
    de: 'Diese Art von Nachricht kann ich hier nicht öffnen. Bitte schreibe sie als Text.',
    fr: "Je ne peux pas ouvrir ce type de message ici. Merci de l'écrire en texte.",
  },
  failed: {
    en: 'Sorry, I cannot answer right now. Please try again later.',
    es: 'Lo siento, ahora no puedo responder. Inténtalo más tarde, por favor.',
    pt: 'Desculpe, não consigo responder agora. Tente de novo mais tarde, por favor.',
    de: 'Entschuldigung, ich kann gerade nicht antworten. Bitte versuche es später noch einmal.',
    fr: 'Désolé, je ne peux pas répondre pour le moment. Merci de réessayer plus tard.',
  },
  slow: {
    en: 'This takes a little longer. The answer is on its way.',
    es: 'Esto tarda un poco más. La respuesta está en camino.',
    pt: 'Isto demora um pouco mais. A resposta está a caminho.',
    de: 'Das dauert etwas länger. Die Antwort ist unterwegs.',
    fr: 'Cela prend un peu plus de temps. La réponse arrive.',
  },
  unreachable: {
    en: 'I get no answer right now. I keep trying, and write to you as soon as I have one.',
    es: 'Ahora no consigo una respuesta. Sigo intentándolo y te escribo en cuanto la tenga.',
    pt: 'Neste momento não consigo uma resposta. Continuo a tentar e escrevo assim que a tiver.',
    de: 'Ich bekomme gerade keine Antwort. Ich versuche es weiter und melde mich, sobald ich eine habe.',
    fr: "Je n'obtiens pas de réponse pour le moment. Je continue d'essayer et je vous écris dès que j'en ai une.",
  },
  noAnswer: {
    en: 'I have no answer to your message.',
    es: 'No tengo respuesta a tu mensaje.',
    pt: 'Não tenho resposta para a sua mensagem.',
    de: 'Auf deine Nachricht habe ich keine Antwort.',
    fr: "Je n'ai pas de réponse à votre message.",
  },
  new: {
    en: 'A new conversation begins.',
    es: 'Empieza una conversación nueva.',
    pt: 'Uma nova conversa começa.',
    de: 'Ein neues Gespräch beginnt.',
    fr: 'Une nouvelle conversation commence.',
  },
  stop: { en: 'Stopped.', es: 'Detenido.', pt: 'Parado.', de: 'Angehalten.', fr: 'Arrêté.' },
  stopNone: {
    en: 'Nothing is running.',
    es: 'No hay nada en curso.',
    pt: 'Não há nada em curso.',
    de: 'Es läuft gerade nichts.',
    fr: "Rien n'est en cours.",
  },
  help: {
    en: 'You can write:',
    es: 'Puedes escribir:',
    pt: 'Pode escrever:',
    de: 'Du kannst schreiben:',
    fr: 'Vous pouvez écrire :',
  },
  helpAlso: {
    en: 'You can also write:',
    es: 'También puedes escribir:',
    pt: 'Também pode escrever:',
    de: 'Du kannst auch schreiben:',
    fr: 'Vous pouvez aussi écrire :',
  },
  helpNew: {
    en: 'begin a new conversation',
    es: 'empezar una conversación nueva',
    pt: 'começar uma nova conversa',
    de: 'ein neues Gespräch beginnen',
    fr: 'commencer une nouvelle conversation',
  },
  helpStop: {
    en: 'stop the answer that is being made',
    es: 'detener la respuesta en curso',
    pt: 'parar a resposta em curso',
    de: 'die laufende Antwort anhalten',
    fr: 'arrêter la réponse en cours',
  },
  helpStatus: {
    en: 'show the state of this conversation',
    es: 'ver el estado de esta conversación',
    pt: 'ver o estado desta conversa',
    de: 'den Stand dieses Gesprächs zeigen',
    fr: "voir l'état de cette conversation",
  },
  helpHelp: {
    en: 'show this help',
    es: 'ver esta ayuda',
    pt: 'ver esta ajuda',
    de: 'diese Hilfe zeigen',
    fr: 'voir cette aide',
  },
  status: {
    en: 'I am here and answer your messages.',
    es: 'Estoy aquí y respondo a tus mensajes.',
    pt: 'Estou aqui e respondo às suas mensagens.',
    de: 'Ich bin da und beantworte deine Nachrichten.',
    fr: 'Je suis là et je réponds à vos messages.',
  },
  statusApproving: {
    en: 'I am here. A person reads my answers before you get them.',
    es: 'Estoy aquí. Una persona revisa mis respuestas antes de que las recibas.',
    pt: 'Estou aqui. Uma pessoa lê as minhas respostas antes de as receber.',
    de: 'Ich bin da. Eine Person liest meine Antworten, bevor du sie bekommst.',
    fr: 'Je suis là. Une personne relit mes réponses avant de vous les envoyer.',
  },
  statusSince: {
    en: 'This conversation began on {since}.',
    es: 'Esta conversación empezó el {since}.',
    pt: 'Esta conversa começou em {since}.',
    de: 'Dieses Gespräch hat am {since} begonnen.',
    fr: 'Cette conversation a commencé le {since}.',
  },
  quota: {
    en: 'You have reached the limit of messages for now. Please write again in {minutes} minutes.',
    es: 'Has llegado al límite de mensajes por ahora. Escribe de nuevo en {minutes} minutos, por favor.',
    pt: 'Atingiu o limite de mensagens por agora. Escreva de novo em {minutes} minutos, por favor.',
    de: 'Du hast das Limit an Nachrichten für jetzt erreicht. Bitte schreibe in {minutes} Minuten wieder.',
    fr: 'Vous avez atteint la limite de messages pour le moment. Merci de réécrire dans {minutes} minutes.',
  },
  ownerAsk: {
    en: '{name} ({address}) wrote for the first time: "{text}"\nTo let the agent answer, write here: #approve {id}\nElse: #refuse {id}',
    es: '{name} ({address}) ha escrito por primera vez: "{text}"\nPara que el agente responda, escribe aquí: #approve {id}\nSi no: #refuse {id}',
    pt: '{name} ({address}) escreveu pela primeira vez: "{text}"\nPara o agente responder, escreva aqui: #approve {id}\nCaso contrário: #refuse {id}',
    de: '{name} ({address}) hat zum ersten Mal geschrieben: "{text}"\nDamit der Agent antwortet, schreibe hier: #approve {id}\nSonst: #refuse {id}',
    fr: '{name} ({address}) a écrit pour la première fois : "{text}"\nPour que l\'agent réponde, écrivez ici : #approve {id}\nSinon : #refuse {id}',
  },
  ownerAskGroup: {
    en: '{name} wrote in a group ({address}): "{text}"\nTo let the agent answer in this group, write here: #approve {id}\nElse: #refuse {id}',
    es: '{name} ha escrito en un grupo ({address}): "{text}"\nPara que el agente responda en este grupo, escribe aquí: #approve {id}\nSi no: #refuse {id}',
    pt: '{name} escreveu num grupo ({address}): "{text}"\nPara o agente responder neste grupo, escreva aqui: #approve {id}\nCaso contrário: #refuse {id}',
    de: '{name} hat in einer Gruppe geschrieben ({address}): "{text}"\nDamit der Agent in dieser Gruppe antwortet, schreibe hier: #approve {id}\nSonst: #refuse {id}',
    fr: '{name} a écrit dans un groupe ({address}) : "{text}"\nPour que l\'agent réponde dans ce groupe, écrivez ici : #approve {id}\nSinon : #refuse {id}',
  },
  ownerApproved: {
    en: 'Approved: {address}.',
    es: 'Aprobado: {address}.',
    pt: 'Aprovado: {address}.',
    de: 'Freigegeben: {address}.',
    fr: 'Approuvé : {address}.',
  },
  ownerRefused: {
    en: 'Refused: {address}.',
    es: 'Rechazado: {address}.',
    pt: 'Recusado: {address}.',
    de: 'Abgelehnt: {address}.',
    fr: 'Refusé : {address}.',
  },
  ownerUnknown: {
    en: 'There is no chat with the number {id}.',
    es: 'No hay ningún chat con el número {id}.',
    pt: 'Não há conversa com o número {id}.',
    de: 'Es gibt keinen Chat mit der Nummer {id}.',
    fr: "Il n'y a pas de discussion avec le numéro {id}.",
  },
  ownerDraft: {
    en: '{name} ({address}) wrote: "{text}"\nThe answer waits for you:\n\n{draft}\n\nTo send it, write here: #send {id}\nOther words: #edit {id} your text\nNo answer: #drop {id}',
    es: '{name} ({address}) ha escrito: "{text}"\nLa respuesta te espera:\n\n{draft}\n\nPara enviarla, escribe aquí: #send {id}\nOtras palabras: #edit {id} tu texto\nSin respuesta: #drop {id}',
    pt: '{name} ({address}) escreveu: "{text}"\nA resposta espera por si:\n\n{draft}\n\nPara a enviar, escreva aqui: #send {id}\nOutras palavras: #edit {id} o seu texto\nSem resposta: #drop {id}',
    de: '{name} ({address}) hat geschrieben: "{text}"\nDie Antwort wartet auf dich:\n\n{draft}\n\nUm sie zu senden, schreibe hier: #send {id}\nAndere Worte: #edit {id} dein Text\nKeine Antwort: #drop {id}',
    fr: '{name} ({address}) a écrit : "{text}"\nLa réponse vous attend :\n\n{draft}\n\nPour l\'envoyer, écrivez ici : #send {id}\nAutres mots : #edit {id} votre texte\nPas de réponse : #drop {id}',
  },
  ownerSent: {
    en: 'Sent to {address}.',
    es: 'Enviado a {address}.',
    pt: 'Enviado a {address}.',
    de: 'Gesendet an {address}.',
    fr: 'Envoyé à {address}.',
  },
  ownerDropped: {
    en: 'Not sent to {address}.',
    es: 'No enviado a {address}.',
    pt: 'Não enviado a {address}.',
    de: 'Nicht gesendet an {address}.',
    fr: 'Non envoyé à {address}.',
  },
  ownerNoDraft: {
    en: 'No answer with the number {id} waits for you.',
    es: 'Ninguna respuesta con el número {id} te espera.',
    pt: 'Nenhuma resposta com o número {id} espera por si.',
    de: 'Keine Antwort mit der Nummer {id} wartet auf dich.',
    fr: 'Aucune réponse avec le numéro {id} ne vous attend.',
  },
};

/** A text of wa2ai; `{name}` is replaced by the value of that name. */
export function textOf(
  name: TextName,
  language: Language,
  values: Record<string, string | number> = {},
): string {
  return TEXTS[name][language].replace(/\{(\w+)\}/g, (_, key: string) => String(values[key] ?? ''));
}

/** Frequent words that no other language of the list has. */
const WORDS: Record<Language, RegExp> = {
  en: /\b(?:the|and|you|what|is|are|how|please|thanks|hello|my|with|this|can|i'm|it's)\b/gi,
  es: /(?<!\p{L})(?:el|los|las|qué|cómo|está|gracias|hola|por favor|una|pero|yo|eres|quiero|buenos|buenas|dónde)(?!\p{L})/giu,
  pt: /(?<!\p{L})(?:você|não|obrigad[oa]|olá|oi|uma|isto|é|são|quero|bom dia|boa|estou|onde|meu|minha)(?!\p{L})/giu,
  de: /(?<!\p{L})(?:der|die|das|und|ist|ich|nicht|wie|bitte|danke|hallo|ein|eine|guten|kannst|wo)(?!\p{L})/giu,
  fr: /(?<!\p{L})(?:le|les|est|je|vous|bonjour|merci|une|pas|comment|salut|s'il|où|c'est|et|mon)(?!\p{L})/giu,
};

/** Country codes by language, where one of the list is the language of most people. */
const COUNTRIES: Array<[Language, RegExp]> = [
  ['es', /^(?:34|5[1-4]|5[678]|50[2-7]|59[1358]|240)/],
  ['pt', /^(?:55|351|244|258|238|239|245)/],
  ['de', /^(?:49|43|41|423)/],
  ['fr', /^(?:33|32|352|377|225|221|237|213|216|212|509)/],
];

/**
 * The language in which wa2ai answers a person: that of their words when these say it, else the one in which people of the chat
 * wrote last, else that of their number's country, else English.
 * @param phone digits with country code; absent when the number is not known
 * @param written the language of earlier words in the chat
 */
export function languageOf(text: string, phone: string | undefined, written?: Language): Language {
  return likelyLanguage(text, phone, written) ?? 'en';
}

/** As `languageOf`; undefined when neither words nor the number say it. */
export function likelyLanguage(
  text: string,
  phone: string | undefined,
  written?: Language,
): Language | undefined {
  const ofWords = languageOfWords(text) ?? written;
  if (ofWords) return ofWords;
  return COUNTRIES.find(([, pattern]) => phone !== undefined && pattern.test(phone))?.[0];
}

/** The language that words are clearly in; undefined when they do not say it. */
export function languageOfWords(text: string): Language | undefined {
  const start = text.slice(0, 500);
  const scores = LANGUAGES.map((language) => ({
    language,
    score: start.match(WORDS[language])?.length ?? 0,
  }));
  const [best, second] = scores.sort((a, b) => b.score - a.score);
  return best && best.score > (second?.score ?? 0) ? best.language : undefined;
}

/** The number of the person who wrote a message, when it is known. */
export function phoneOf({ from }: { from: string }): string | undefined {
  const address = parseJid(from);
  return address?.kind === 'phone' ? address.phone : undefined;
}
