import { parseJid } from '../chat-id.ts';

/** What wa2ai itself says to people, in English. */
const EN = {
  unsupported: 'I cannot open this kind of message here. Please write it as text.',
  failed: 'Sorry, I cannot answer right now. Please try again later.',
  slow: 'This takes a little longer. The answer is on its way.',
  unreachable: 'I get no answer right now. I keep trying, and write to you as soon as I have one.',
  noAnswer: 'I have no answer to your message.',
  new: 'A new conversation begins.',
  stop: 'Stopped.',
  stopNone: 'Nothing is running.',
  help: 'You can write:',
  helpAlso: 'You can also write:',
  helpNew: 'begin a new conversation',
  helpStop: 'stop the answer that is being made',
  helpStatus: 'show the state of this conversation',
  helpHelp: 'show this help',
  status: 'I am here and answer your messages.',
  statusApproving: 'I am here. A person reads my answers before you get them.',
  statusSince: 'This conversation began on {since}.',
  quota: 'You have reached the limit of messages for now. Please write again in {minutes} minutes.',
  ownerAsk:
    '{name} ({address}) wrote for the first time: "{text}"\nTo let the agent answer, write here: #approve {id}\nElse: #refuse {id}',
  ownerAskGroup:
    '{name} wrote in a group ({address}): "{text}"\nTo let the agent answer in this group, write here: #approve {id}\nElse: #refuse {id}',
  ownerApproved: 'Approved: {address}.',
  ownerRefused: 'Refused: {address}.',
  ownerUnknown: 'There is no chat with the number {id}.',
  ownerDraft:
    '{name} ({address}) wrote: "{text}"\nThe answer waits for you:\n\n{draft}\n\nTo send it, write here: #send {id}\nOther words: #edit {id} your text\nNo answer: #drop {id}',
  ownerSent: 'Sent to {address}.',
  ownerDropped: 'Not sent to {address}.',
  ownerNoDraft: 'No answer with the number {id} waits for you.',
  taskStarted: 'Task {task} started, I will report here.',
  taskDone: 'Task {task} is completed.',
  taskFailed: 'Task {task} failed.',
  taskCanceled: 'Task {task} was cancelled.',
  taskCanceling: 'Task {task} will be cancelled.',
  taskNotCanceled: 'The agent does not cancel task {task}.',
  taskNone: 'This chat has no tasks.',
  taskUnknown: 'This chat has no task {task}. /tasks lists its tasks.',
  taskHelp: 'Write /task and the id of the task, and cancel to stop it: /task ID cancel.',
  taskRunning: 'running',
  taskEnded: 'ended',
  taskSays: 'Task {task}: {text}',
  question: 'Your next message here answers this question.',
  questionAnswered: 'Thank you, your answer was passed on.',
  reminder: 'Reminder: {text}',
};

/** The names of these texts. */
type TextName = keyof typeof EN;

export const TEXT_NAMES = Object.keys(EN) as [TextName, ...TextName[]];

/** How people are addressed: as is usual in their language, or always formally or informally. */
export const FORMS_OF_ADDRESS = ['usual', 'formal', 'informal'] as const;

interface ChatLanguage {
  /** Frequent words that no other language of the list has. Absent: those of the same language of another country. */
  words?: RegExp;
  /** Country codes where it is the language of most people. */
  countries?: RegExp;
  texts: Record<TextName, string>;
  /** The texts that differ for people who are addressed in the other form. Absent: there is one form. */
  formal?: Partial<Record<TextName, string>>;
  informal?: Partial<Record<TextName, string>>;
}

/** The languages of the texts that wa2ai itself sends. A new language is one more entry. */
const CHAT_LANGUAGES = {
  en: {
    words: /\b(?:the|and|you|what|is|are|how|please|thanks|hello|my|with|this|can|i'm|it's)\b/gi,
    texts: EN,
  },
  es: {
    words:
      /(?<!\p{L})(?:el|los|las|qué|cómo|está|gracias|hola|por favor|pero|yo|eres|quiero|buenos|buenas|dónde)(?!\p{L})/giu,
    countries: /^(?:34|5[1-4]|5[678]|50[2-7]|59[1358]|240)/,
    texts: {
      unsupported: 'Aquí no puedo abrir este tipo de mensaje. Escríbelo como texto, por favor.',
      failed: 'Lo siento, ahora no puedo responder. Inténtalo más tarde, por favor.',
      slow: 'Esto tarda un poco más. La respuesta está en camino.',
      unreachable: 'Ahora no consigo una respuesta. Sigo intentándolo y te escribo en cuanto la tenga.',
      noAnswer: 'No tengo respuesta a tu mensaje.',
      new: 'Empieza una conversación nueva.',
      stop: 'De acuerdo, lo dejo aquí.',
      stopNone: 'No hay nada en curso.',
      help: 'Puedes escribir:',
      helpAlso: 'También puedes escribir:',
      helpNew: 'empezar una conversación nueva',
      helpStop: 'detener la respuesta en curso',
      helpStatus: 'ver el estado de esta conversación',
      helpHelp: 'ver esta ayuda',
      status: 'Estoy aquí y respondo a tus mensajes.',
      statusApproving: 'Estoy aquí. Una persona revisa mis respuestas antes de que las recibas.',
      statusSince: 'Esta conversación empezó el {since}.',
      quota: 'Has llegado al límite de mensajes por ahora. Escribe de nuevo en {minutes} minutos, por favor.',
      ownerAsk:
        '{name} ({address}) ha escrito por primera vez: "{text}"\nPara que el agente responda, escribe aquí: #approve {id}\nSi no: #refuse {id}',
      ownerAskGroup:
        '{name} ha escrito en un grupo ({address}): "{text}"\nPara que el agente responda en este grupo, escribe aquí: #approve {id}\nSi no: #refuse {id}',
      ownerApproved: 'Aprobado: {address}.',
      ownerRefused: 'Rechazado: {address}.',
      ownerUnknown: 'No hay ningún chat con el número {id}.',
      ownerDraft:
        '{name} ({address}) ha escrito: "{text}"\nLa respuesta te espera:\n\n{draft}\n\nPara enviarla, escribe aquí: #send {id}\nOtras palabras: #edit {id} tu texto\nSin respuesta: #drop {id}',
      ownerSent: 'Enviado a {address}.',
      ownerDropped: 'No enviado a {address}.',
      ownerNoDraft: 'Ninguna respuesta con el número {id} te espera.',
      taskStarted: 'Tarea {task} iniciada. Te aviso aquí.',
      taskDone: 'La tarea {task} ha terminado.',
      taskFailed: 'La tarea {task} ha fallado.',
      taskCanceled: 'La tarea {task} se ha cancelado.',
      taskCanceling: 'La tarea {task} se cancelará.',
      taskNotCanceled: 'El agente no cancela la tarea {task}.',
      taskNone: 'Este chat no tiene tareas.',
      taskUnknown: 'Este chat no tiene la tarea {task}. Con /tasks ves sus tareas.',
      taskHelp: 'Escribe /task y el id de la tarea, y cancel para detenerla: /task ID cancel.',
      taskRunning: 'en curso',
      taskEnded: 'terminada',
      taskSays: 'Tarea {task}: {text}',
      question: 'Tu próximo mensaje aquí responde a esta pregunta.',
      questionAnswered: 'Gracias, tu respuesta se ha transmitido.',
      reminder: 'Recordatorio: {text}',
    },
    formal: {
      unsupported: 'Aquí no puedo abrir este tipo de mensaje. Escríbalo como texto, por favor.',
      failed: 'Lo siento, ahora no puedo responder. Inténtelo más tarde, por favor.',
      unreachable: 'Ahora no consigo una respuesta. Sigo intentándolo y le escribo en cuanto la tenga.',
      noAnswer: 'No tengo respuesta a su mensaje.',
      help: 'Puede escribir:',
      helpAlso: 'También puede escribir:',
      status: 'Estoy aquí y respondo a sus mensajes.',
      statusApproving: 'Estoy aquí. Una persona revisa mis respuestas antes de que las reciba.',
      quota: 'Ha llegado al límite de mensajes por ahora. Escriba de nuevo en {minutes} minutos, por favor.',
      ownerAsk:
        '{name} ({address}) ha escrito por primera vez: "{text}"\nPara que el agente responda, escriba aquí: #approve {id}\nSi no: #refuse {id}',
      ownerAskGroup:
        '{name} ha escrito en un grupo ({address}): "{text}"\nPara que el agente responda en este grupo, escriba aquí: #approve {id}\nSi no: #refuse {id}',
      ownerDraft:
        '{name} ({address}) ha escrito: "{text}"\nLa respuesta le espera:\n\n{draft}\n\nPara enviarla, escriba aquí: #send {id}\nOtras palabras: #edit {id} su texto\nSin respuesta: #drop {id}',
      ownerNoDraft: 'Ninguna respuesta con el número {id} le espera.',
      taskStarted: 'Tarea {task} iniciada. Le aviso aquí.',
      taskUnknown: 'Este chat no tiene la tarea {task}. Con /tasks ve sus tareas.',
      taskHelp: 'Escriba /task y el id de la tarea, y cancel para detenerla: /task ID cancel.',
      question: 'Su próximo mensaje aquí responde a esta pregunta.',
      questionAnswered: 'Gracias, su respuesta se ha transmitido.',
    },
  },
  'pt-BR': {
    countries: /^55/,
    texts: {
      unsupported: 'Não consigo abrir esse tipo de mensagem aqui. Por favor, escreva em texto.',
      failed: 'Desculpe, não consigo responder agora. Tente de novo mais tarde, por favor.',
      slow: 'Está demorando um pouco mais. A resposta já vem.',
      unreachable: 'Não estou conseguindo uma resposta agora. Continuo tentando e escrevo assim que tiver.',
      noAnswer: 'Não tenho uma resposta para a sua mensagem.',
      new: 'Começou uma nova conversa.',
      stop: 'Parei.',
      stopNone: 'Não há nada em andamento.',
      help: 'Você pode escrever:',
      helpAlso: 'Você também pode escrever:',
      helpNew: 'começar uma nova conversa',
      helpStop: 'parar a resposta em andamento',
      helpStatus: 'ver a situação desta conversa',
      helpHelp: 'ver esta ajuda',
      status: 'Estou aqui e respondo às suas mensagens.',
      statusApproving: 'Estou aqui. Uma pessoa lê as minhas respostas antes de você receber.',
      statusSince: 'Esta conversa começou em {since}.',
      quota:
        'Você atingiu o limite de mensagens por enquanto. Escreva de novo em {minutes} minutos, por favor.',
      ownerAsk:
        '{name} ({address}) escreveu pela primeira vez: "{text}"\nPara o agente responder, escreva aqui: #approve {id}\nSe não: #refuse {id}',
      ownerAskGroup:
        '{name} escreveu em um grupo ({address}): "{text}"\nPara o agente responder neste grupo, escreva aqui: #approve {id}\nSe não: #refuse {id}',
      ownerApproved: 'Aprovado: {address}.',
      ownerRefused: 'Recusado: {address}.',
      ownerUnknown: 'Não há conversa com o número {id}.',
      ownerDraft:
        '{name} ({address}) escreveu: "{text}"\nA resposta espera por você:\n\n{draft}\n\nPara enviar, escreva aqui: #send {id}\nOutras palavras: #edit {id} o seu texto\nSem resposta: #drop {id}',
      ownerSent: 'Enviado para {address}.',
      ownerDropped: 'Não enviado para {address}.',
      ownerNoDraft: 'Nenhuma resposta com o número {id} espera por você.',
      taskStarted: 'Tarefa {task} iniciada. Aviso você aqui.',
      taskDone: 'A tarefa {task} terminou.',
      taskFailed: 'A tarefa {task} falhou.',
      taskCanceled: 'A tarefa {task} foi cancelada.',
      taskCanceling: 'A tarefa {task} será cancelada.',
      taskNotCanceled: 'O agente não cancela a tarefa {task}.',
      taskNone: 'Esta conversa não tem tarefas.',
      taskUnknown: 'Esta conversa não tem a tarefa {task}. /tasks mostra as tarefas dela.',
      taskHelp: 'Escreva /task e o id da tarefa, e cancel para parar: /task ID cancel.',
      taskRunning: 'em andamento',
      taskEnded: 'terminada',
      taskSays: 'Tarefa {task}: {text}',
      question: 'A sua próxima mensagem aqui responde a esta pergunta.',
      questionAnswered: 'Obrigado, a sua resposta foi encaminhada.',
      reminder: 'Lembrete: {text}',
    },
  },
  pt: {
    words:
      /(?<!\p{L})(?:você|não|obrigad[oa]|olá|oi|uma|isto|é|são|quero|bom dia|boa|estou|onde|meu|minha)(?!\p{L})/giu,
    countries: /^(?:351|244|258|238|239|245)/,
    texts: {
      unsupported: 'Não consigo abrir este tipo de mensagem aqui. Por favor, escreva em texto.',
      failed: 'Desculpe, não consigo responder agora. Tente de novo mais tarde, por favor.',
      slow: 'Isto demora um pouco mais. A resposta está a caminho.',
      unreachable: 'Neste momento não consigo uma resposta. Continuo a tentar e escrevo assim que a tiver.',
      noAnswer: 'Não tenho resposta para a sua mensagem.',
      new: 'Uma nova conversa começa.',
      stop: 'Parado.',
      stopNone: 'Não há nada em curso.',
      help: 'Pode escrever:',
      helpAlso: 'Também pode escrever:',
      helpNew: 'começar uma nova conversa',
      helpStop: 'parar a resposta em curso',
      helpStatus: 'ver o estado desta conversa',
      helpHelp: 'ver esta ajuda',
      status: 'Estou aqui e respondo às suas mensagens.',
      statusApproving: 'Estou aqui. Uma pessoa lê as minhas respostas antes de as receber.',
      statusSince: 'Esta conversa começou em {since}.',
      quota: 'Atingiu o limite de mensagens por agora. Escreva de novo em {minutes} minutos, por favor.',
      ownerAsk:
        '{name} ({address}) escreveu pela primeira vez: "{text}"\nPara o agente responder, escreva aqui: #approve {id}\nCaso contrário: #refuse {id}',
      ownerAskGroup:
        '{name} escreveu num grupo ({address}): "{text}"\nPara o agente responder neste grupo, escreva aqui: #approve {id}\nCaso contrário: #refuse {id}',
      ownerApproved: 'Aprovado: {address}.',
      ownerRefused: 'Recusado: {address}.',
      ownerUnknown: 'Não há conversa com o número {id}.',
      ownerDraft:
        '{name} ({address}) escreveu: "{text}"\nA resposta espera por si:\n\n{draft}\n\nPara a enviar, escreva aqui: #send {id}\nOutras palavras: #edit {id} o seu texto\nSem resposta: #drop {id}',
      ownerSent: 'Enviado a {address}.',
      ownerDropped: 'Não enviado a {address}.',
      ownerNoDraft: 'Nenhuma resposta com o número {id} espera por si.',
      taskStarted: 'Tarefa {task} iniciada. Dou notícias aqui.',
      taskDone: 'A tarefa {task} terminou.',
      taskFailed: 'A tarefa {task} falhou.',
      taskCanceled: 'A tarefa {task} foi cancelada.',
      taskCanceling: 'A tarefa {task} será cancelada.',
      taskNotCanceled: 'O agente não cancela a tarefa {task}.',
      taskNone: 'Esta conversa não tem tarefas.',
      taskUnknown: 'Esta conversa não tem a tarefa {task}. /tasks mostra as suas tarefas.',
      taskHelp: 'Escreva /task e o id da tarefa, e cancel para a parar: /task ID cancel.',
      taskRunning: 'em curso',
      taskEnded: 'terminada',
      taskSays: 'Tarefa {task}: {text}',
      question: 'A sua próxima mensagem aqui responde a esta pergunta.',
      questionAnswered: 'Obrigado, a sua resposta foi encaminhada.',
      reminder: 'Lembrete: {text}',
    },
    informal: {
      unsupported: 'Não consigo abrir este tipo de mensagem aqui. Por favor, escreve em texto.',
      failed: 'Desculpa, não consigo responder agora. Tenta de novo mais tarde, por favor.',
      noAnswer: 'Não tenho resposta para a tua mensagem.',
      help: 'Podes escrever:',
      helpAlso: 'Também podes escrever:',
      status: 'Estou aqui e respondo às tuas mensagens.',
      statusApproving: 'Estou aqui. Uma pessoa lê as minhas respostas antes de as receberes.',
      quota: 'Atingiste o limite de mensagens por agora. Escreve de novo em {minutes} minutos, por favor.',
      ownerAsk:
        '{name} ({address}) escreveu pela primeira vez: "{text}"\nPara o agente responder, escreve aqui: #approve {id}\nCaso contrário: #refuse {id}',
      ownerAskGroup:
        '{name} escreveu num grupo ({address}): "{text}"\nPara o agente responder neste grupo, escreve aqui: #approve {id}\nCaso contrário: #refuse {id}',
      ownerDraft:
        '{name} ({address}) escreveu: "{text}"\nA resposta espera por ti:\n\n{draft}\n\nPara a enviar, escreve aqui: #send {id}\nOutras palavras: #edit {id} o teu texto\nSem resposta: #drop {id}',
      ownerNoDraft: 'Nenhuma resposta com o número {id} espera por ti.',
      taskHelp: 'Escreve /task e o id da tarefa, e cancel para a parar: /task ID cancel.',
      question: 'A tua próxima mensagem aqui responde a esta pergunta.',
      questionAnswered: 'Obrigado, a tua resposta foi encaminhada.',
    },
  },
  de: {
    words:
      /(?<!\p{L})(?:der|die|das|und|ist|ich|nicht|wie|bitte|danke|hallo|ein|eine|guten|kannst|wo)(?!\p{L})/giu,
    countries: /^(?:49|43|41|423)/,
    texts: {
      unsupported: 'Diese Art von Nachricht kann ich hier nicht öffnen. Bitte schreibe sie als Text.',
      failed: 'Entschuldigung, ich kann gerade nicht antworten. Bitte versuche es später noch einmal.',
      slow: 'Das dauert etwas länger. Die Antwort ist unterwegs.',
      unreachable:
        'Ich bekomme gerade keine Antwort. Ich versuche es weiter und melde mich, sobald ich eine habe.',
      noAnswer: 'Auf deine Nachricht habe ich keine Antwort.',
      new: 'Ein neues Gespräch beginnt.',
      stop: 'In Ordnung, ich höre auf.',
      stopNone: 'Es läuft gerade nichts.',
      help: 'Du kannst schreiben:',
      helpAlso: 'Du kannst auch schreiben:',
      helpNew: 'ein neues Gespräch beginnen',
      helpStop: 'die laufende Antwort anhalten',
      helpStatus: 'den Stand dieses Gesprächs zeigen',
      helpHelp: 'diese Hilfe zeigen',
      status: 'Ich bin da und beantworte deine Nachrichten.',
      statusApproving: 'Ich bin da. Eine Person liest meine Antworten, bevor du sie bekommst.',
      statusSince: 'Dieses Gespräch hat am {since} begonnen.',
      quota:
        'Du hast das Limit an Nachrichten für jetzt erreicht. Bitte schreibe in {minutes} Minuten wieder.',
      ownerAsk:
        '{name} ({address}) hat zum ersten Mal geschrieben: "{text}"\nDamit der Agent antwortet, schreibe hier: #approve {id}\nSonst: #refuse {id}',
      ownerAskGroup:
        '{name} hat in einer Gruppe geschrieben ({address}): "{text}"\nDamit der Agent in dieser Gruppe antwortet, schreibe hier: #approve {id}\nSonst: #refuse {id}',
      ownerApproved: 'Freigegeben: {address}.',
      ownerRefused: 'Abgelehnt: {address}.',
      ownerUnknown: 'Es gibt keinen Chat mit der Nummer {id}.',
      ownerDraft:
        '{name} ({address}) hat geschrieben: "{text}"\nDie Antwort wartet auf dich:\n\n{draft}\n\nUm sie zu senden, schreibe hier: #send {id}\nAndere Worte: #edit {id} dein Text\nKeine Antwort: #drop {id}',
      ownerSent: 'Gesendet an {address}.',
      ownerDropped: 'Nicht gesendet an {address}.',
      ownerNoDraft: 'Keine Antwort mit der Nummer {id} wartet auf dich.',
      taskStarted: 'Aufgabe {task} läuft. Ich melde mich hier.',
      taskDone: 'Aufgabe {task} ist erledigt.',
      taskFailed: 'Aufgabe {task} ist fehlgeschlagen.',
      taskCanceled: 'Aufgabe {task} wurde abgebrochen.',
      taskCanceling: 'Aufgabe {task} wird abgebrochen.',
      taskNotCanceled: 'Der Agent bricht Aufgabe {task} nicht ab.',
      taskNone: 'In diesem Chat gibt es keine Aufgaben.',
      taskUnknown: 'In diesem Chat gibt es keine Aufgabe {task}. /tasks zeigt seine Aufgaben.',
      taskHelp:
        'Schreibe /task und die Kennung der Aufgabe, und cancel, um sie abzubrechen: /task ID cancel.',
      taskRunning: 'läuft',
      taskEnded: 'beendet',
      taskSays: 'Aufgabe {task}: {text}',
      question: 'Deine nächste Nachricht hier beantwortet diese Frage.',
      questionAnswered: 'Danke, deine Antwort wurde weitergegeben.',
      reminder: 'Erinnerung: {text}',
    },
    formal: {
      unsupported: 'Diese Art von Nachricht kann ich hier nicht öffnen. Bitte schreiben Sie sie als Text.',
      failed: 'Entschuldigung, ich kann gerade nicht antworten. Bitte versuchen Sie es später noch einmal.',
      noAnswer: 'Auf Ihre Nachricht habe ich keine Antwort.',
      help: 'Sie können schreiben:',
      helpAlso: 'Sie können auch schreiben:',
      status: 'Ich bin da und beantworte Ihre Nachrichten.',
      statusApproving: 'Ich bin da. Eine Person liest meine Antworten, bevor Sie sie bekommen.',
      quota:
        'Sie haben das Limit an Nachrichten für jetzt erreicht. Bitte schreiben Sie in {minutes} Minuten wieder.',
      ownerAsk:
        '{name} ({address}) hat zum ersten Mal geschrieben: "{text}"\nDamit der Agent antwortet, schreiben Sie hier: #approve {id}\nSonst: #refuse {id}',
      ownerAskGroup:
        '{name} hat in einer Gruppe geschrieben ({address}): "{text}"\nDamit der Agent in dieser Gruppe antwortet, schreiben Sie hier: #approve {id}\nSonst: #refuse {id}',
      ownerDraft:
        '{name} ({address}) hat geschrieben: "{text}"\nDie Antwort wartet auf Sie:\n\n{draft}\n\nUm sie zu senden, schreiben Sie hier: #send {id}\nAndere Worte: #edit {id} Ihr Text\nKeine Antwort: #drop {id}',
      ownerNoDraft: 'Keine Antwort mit der Nummer {id} wartet auf Sie.',
      taskHelp:
        'Schreiben Sie /task und die Kennung der Aufgabe, und cancel, um sie abzubrechen: /task ID cancel.',
      question: 'Ihre nächste Nachricht hier beantwortet diese Frage.',
      questionAnswered: 'Danke, Ihre Antwort wurde weitergegeben.',
    },
  },
  fr: {
    words:
      /(?<!\p{L})(?:le|les|est|je|vous|bonjour|merci|une|pas|comment|salut|s'il|où|c'est|et|mon)(?!\p{L})/giu,
    countries: /^(?:33|32|352|377|225|221|237|213|216|212|509)/,
    texts: {
      unsupported: "Je ne peux pas ouvrir ce type de message ici. Merci de l'écrire en texte.",
      failed: 'Désolé, je ne peux pas répondre pour le moment. Merci de réessayer plus tard.',
      slow: 'Cela prend un peu plus de temps. La réponse arrive.',
      unreachable:
        "Je n'obtiens pas de réponse pour le moment. Je continue d'essayer et je vous écris dès que j'en ai une.",
      noAnswer: "Je n'ai pas de réponse à votre message.",
      new: 'Une nouvelle conversation commence.',
      stop: 'Arrêté.',
      stopNone: "Rien n'est en cours.",
      help: 'Vous pouvez écrire :',
      helpAlso: 'Vous pouvez aussi écrire :',
      helpNew: 'commencer une nouvelle conversation',
      helpStop: 'arrêter la réponse en cours',
      helpStatus: "voir l'état de cette conversation",
      helpHelp: 'voir cette aide',
      status: 'Je suis là et je réponds à vos messages.',
      statusApproving: 'Je suis là. Une personne relit mes réponses avant de vous les envoyer.',
      statusSince: 'Cette conversation a commencé le {since}.',
      quota:
        'Vous avez atteint la limite de messages pour le moment. Merci de réécrire dans {minutes} minutes.',
      ownerAsk:
        '{name} ({address}) a écrit pour la première fois : "{text}"\nPour que l\'agent réponde, écrivez ici : #approve {id}\nSinon : #refuse {id}',
      ownerAskGroup:
        '{name} a écrit dans un groupe ({address}) : "{text}"\nPour que l\'agent réponde dans ce groupe, écrivez ici : #approve {id}\nSinon : #refuse {id}',
      ownerApproved: 'Approuvé : {address}.',
      ownerRefused: 'Refusé : {address}.',
      ownerUnknown: "Il n'y a pas de discussion avec le numéro {id}.",
      ownerDraft:
        '{name} ({address}) a écrit : "{text}"\nLa réponse vous attend :\n\n{draft}\n\nPour l\'envoyer, écrivez ici : #send {id}\nAutres mots : #edit {id} votre texte\nPas de réponse : #drop {id}',
      ownerSent: 'Envoyé à {address}.',
      ownerDropped: 'Non envoyé à {address}.',
      ownerNoDraft: 'Aucune réponse avec le numéro {id} ne vous attend.',
      taskStarted: 'Tâche {task} commencée. Je vous tiens au courant ici.',
      taskDone: 'La tâche {task} est terminée.',
      taskFailed: 'La tâche {task} a échoué.',
      taskCanceled: 'La tâche {task} a été annulée.',
      taskCanceling: 'La tâche {task} va être annulée.',
      taskNotCanceled: "L'agent n'annule pas la tâche {task}.",
      taskNone: "Cette discussion n'a pas de tâches.",
      taskUnknown: "Cette discussion n'a pas de tâche {task}. /tasks montre ses tâches.",
      taskHelp: "Écrivez /task et l'identifiant de la tâche, et cancel pour l'arrêter : /task ID cancel.",
      taskRunning: 'en cours',
      taskEnded: 'terminée',
      taskSays: 'Tâche {task} : {text}',
      question: 'Votre prochain message ici répond à cette question.',
      questionAnswered: 'Merci, votre réponse a été transmise.',
      reminder: 'Rappel : {text}',
    },
    informal: {
      unsupported: "Je ne peux pas ouvrir ce type de message ici. Écris-le en texte, s'il te plaît.",
      failed: "Désolé, je ne peux pas répondre pour le moment. Réessaie plus tard, s'il te plaît.",
      unreachable:
        "Je n'obtiens pas de réponse pour le moment. Je continue d'essayer et je t'écris dès que j'en ai une.",
      noAnswer: "Je n'ai pas de réponse à ton message.",
      help: 'Tu peux écrire :',
      helpAlso: 'Tu peux aussi écrire :',
      status: 'Je suis là et je réponds à tes messages.',
      statusApproving: 'Je suis là. Une personne relit mes réponses avant de te les envoyer.',
      quota:
        "Tu as atteint la limite de messages pour le moment. Réécris dans {minutes} minutes, s'il te plaît.",
      ownerAsk:
        '{name} ({address}) a écrit pour la première fois : "{text}"\nPour que l\'agent réponde, écris ici : #approve {id}\nSinon : #refuse {id}',
      ownerAskGroup:
        '{name} a écrit dans un groupe ({address}) : "{text}"\nPour que l\'agent réponde dans ce groupe, écris ici : #approve {id}\nSinon : #refuse {id}',
      ownerDraft:
        '{name} ({address}) a écrit : "{text}"\nLa réponse t\'attend :\n\n{draft}\n\nPour l\'envoyer, écris ici : #send {id}\nAutres mots : #edit {id} ton texte\nPas de réponse : #drop {id}',
      ownerNoDraft: "Aucune réponse avec le numéro {id} ne t'attend.",
      taskStarted: 'Tâche {task} commencée. Je te tiens au courant ici.',
      taskHelp: "Écris /task et l'identifiant de la tâche, et cancel pour l'arrêter : /task ID cancel.",
      question: 'Ton prochain message ici répond à cette question.',
      questionAnswered: 'Merci, ta réponse a été transmise.',
    },
  },
  it: {
    words:
      /(?<!\p{L})(?:non|sono|grazie|ciao|buongiorno|buonasera|vorrei|perché|questo|questa|della|degli|anche|dove|per favore|prego|gli|è|mi piace|come stai|puoi|quanto costa)(?!\p{L})/giu,
    countries: /^(?:39|378)/,
    texts: {
      unsupported: 'Qui non posso aprire questo tipo di messaggio. Scrivilo come testo, per favore.',
      failed: 'Mi dispiace, adesso non posso rispondere. Riprova più tardi, per favore.',
      slow: "Ci vuole ancora un po'. La risposta sta arrivando.",
      unreachable: 'Adesso non ricevo una risposta. Continuo a provare e ti scrivo appena ne ho una.',
      noAnswer: 'Non ho una risposta al tuo messaggio.',
      new: 'Inizia una nuova conversazione.',
      stop: 'Interrotto.',
      stopNone: "Non c'è niente in corso.",
      help: 'Puoi scrivere:',
      helpAlso: 'Puoi anche scrivere:',
      helpNew: 'iniziare una nuova conversazione',
      helpStop: 'interrompere la risposta in corso',
      helpStatus: 'vedere lo stato di questa conversazione',
      helpHelp: 'vedere questo aiuto',
      status: 'Sono qui e rispondo ai tuoi messaggi.',
      statusApproving: 'Sono qui. Una persona legge le mie risposte prima che tu le riceva.',
      statusSince: 'Questa conversazione è iniziata il {since}.',
      quota: 'Per ora hai raggiunto il limite di messaggi. Scrivi di nuovo tra {minutes} minuti, per favore.',
      ownerAsk:
        '{name} ({address}) ha scritto per la prima volta: "{text}"\nPerché l\'agente risponda, scrivi qui: #approve {id}\nAltrimenti: #refuse {id}',
      ownerAskGroup:
        '{name} ha scritto in un gruppo ({address}): "{text}"\nPerché l\'agente risponda in questo gruppo, scrivi qui: #approve {id}\nAltrimenti: #refuse {id}',
      ownerApproved: 'Approvato: {address}.',
      ownerRefused: 'Rifiutato: {address}.',
      ownerUnknown: "Non c'è nessuna chat con il numero {id}.",
      ownerDraft:
        '{name} ({address}) ha scritto: "{text}"\nLa risposta ti aspetta:\n\n{draft}\n\nPer inviarla, scrivi qui: #send {id}\nAltre parole: #edit {id} il tuo testo\nNessuna risposta: #drop {id}',
      ownerSent: 'Inviato a {address}.',
      ownerDropped: 'Non inviato a {address}.',
      ownerNoDraft: 'Nessuna risposta con il numero {id} ti aspetta.',
      taskStarted: 'Attività {task} avviata. Ti aggiorno qui.',
      taskDone: "L'attività {task} è completata.",
      taskFailed: "L'attività {task} non è riuscita.",
      taskCanceled: "L'attività {task} è stata annullata.",
      taskCanceling: "L'attività {task} verrà annullata.",
      taskNotCanceled: "L'agente non annulla l'attività {task}.",
      taskNone: 'Questa chat non ha attività.',
      taskUnknown: "Questa chat non ha l'attività {task}. /tasks mostra le sue attività.",
      taskHelp: "Scrivi /task e l'id dell'attività, e cancel per fermarla: /task ID cancel.",
      taskRunning: 'in corso',
      taskEnded: 'terminata',
      taskSays: 'Attività {task}: {text}',
      question: 'Il tuo prossimo messaggio qui risponde a questa domanda.',
      questionAnswered: 'Grazie, la tua risposta è stata inoltrata.',
      reminder: 'Promemoria: {text}',
    },
    formal: {
      unsupported: 'Qui non posso aprire questo tipo di messaggio. Lo scriva come testo, per favore.',
      failed: 'Mi dispiace, adesso non posso rispondere. Riprovi più tardi, per favore.',
      unreachable: 'Adesso non ricevo una risposta. Continuo a provare e Le scrivo appena ne ho una.',
      noAnswer: 'Non ho una risposta al Suo messaggio.',
      help: 'Può scrivere:',
      helpAlso: 'Può anche scrivere:',
      status: 'Sono qui e rispondo ai Suoi messaggi.',
      statusApproving: 'Sono qui. Una persona legge le mie risposte prima che Lei le riceva.',
      quota: 'Per ora ha raggiunto il limite di messaggi. Scriva di nuovo tra {minutes} minuti, per favore.',
      ownerAsk:
        '{name} ({address}) ha scritto per la prima volta: "{text}"\nPerché l\'agente risponda, scriva qui: #approve {id}\nAltrimenti: #refuse {id}',
      ownerAskGroup:
        '{name} ha scritto in un gruppo ({address}): "{text}"\nPerché l\'agente risponda in questo gruppo, scriva qui: #approve {id}\nAltrimenti: #refuse {id}',
      ownerDraft:
        '{name} ({address}) ha scritto: "{text}"\nLa risposta La aspetta:\n\n{draft}\n\nPer inviarla, scriva qui: #send {id}\nAltre parole: #edit {id} il Suo testo\nNessuna risposta: #drop {id}',
      ownerNoDraft: 'Nessuna risposta con il numero {id} La aspetta.',
      taskStarted: 'Attività {task} avviata. La aggiorno qui.',
      taskHelp: "Scriva /task e l'id dell'attività, e cancel per fermarla: /task ID cancel.",
      question: 'Il Suo prossimo messaggio qui risponde a questa domanda.',
      questionAnswered: 'Grazie, la Sua risposta è stata inoltrata.',
    },
  },
  tr: {
    words:
      /(?<!\p{L})(?:bir|bu|için|merhaba|selam|teşekkür|teşekkürler|nasıl|nasılsın|evet|hayır|değil|lütfen|çok|günaydın|istiyorum|var mı|ne kadar)(?!\p{L})/giu,
    countries: /^90/,
    texts: {
      unsupported: 'Bu tür bir mesajı burada açamıyorum. Lütfen metin olarak yaz.',
      failed: 'Üzgünüm, şu anda cevap veremiyorum. Lütfen daha sonra tekrar dene.',
      slow: 'Bu biraz daha uzun sürüyor. Cevap yolda.',
      unreachable:
        'Şu anda bir cevap alamıyorum. Denemeye devam ediyorum ve cevabı alır almaz sana yazacağım.',
      noAnswer: 'Mesajına verecek bir cevabım yok.',
      new: 'Yeni bir konuşma başlıyor.',
      stop: 'Durduruldu.',
      stopNone: 'Şu anda süren bir şey yok.',
      help: 'Şunları yazabilirsin:',
      helpAlso: 'Şunları da yazabilirsin:',
      helpNew: 'yeni bir konuşma başlatır',
      helpStop: 'hazırlanan cevabı durdurur',
      helpStatus: 'bu konuşmanın durumunu gösterir',
      helpHelp: 'bu yardımı gösterir',
      status: 'Buradayım ve mesajlarına cevap veriyorum.',
      statusApproving: 'Buradayım. Cevaplarımı sana ulaşmadan önce bir kişi okuyor.',
      statusSince: 'Bu konuşma {since} tarihinde başladı.',
      quota: 'Şimdilik mesaj sınırına ulaştın. Lütfen {minutes} dakika sonra tekrar yaz.',
      ownerAsk:
        '{name} ({address}) ilk kez yazdı: "{text}"\nAsistanın cevap vermesi için buraya yaz: #approve {id}\nAksi halde: #refuse {id}',
      ownerAskGroup:
        '{name} bir grupta yazdı ({address}): "{text}"\nAsistanın bu grupta cevap vermesi için buraya yaz: #approve {id}\nAksi halde: #refuse {id}',
      ownerApproved: 'Onaylandı: {address}.',
      ownerRefused: 'Reddedildi: {address}.',
      ownerUnknown: '{id} numaralı bir sohbet yok.',
      ownerDraft:
        '{name} ({address}) yazdı: "{text}"\nCevap seni bekliyor:\n\n{draft}\n\nGöndermek için buraya yaz: #send {id}\nBaşka sözlerle: #edit {id} metnin\nCevap yok: #drop {id}',
      ownerSent: 'Gönderildi: {address}.',
      ownerDropped: 'Gönderilmedi: {address}.',
      ownerNoDraft: 'Seni bekleyen {id} numaralı bir cevap yok.',
      taskStarted: '{task} görevi başladı, sonucu buraya yazacağım.',
      taskDone: '{task} görevi tamamlandı.',
      taskFailed: '{task} görevi başarısız oldu.',
      taskCanceled: '{task} görevi iptal edildi.',
      taskCanceling: '{task} görevi iptal edilecek.',
      taskNotCanceled: 'Asistan {task} görevini iptal etmiyor.',
      taskNone: 'Bu sohbette görev yok.',
      taskUnknown: 'Bu sohbette {task} görevi yok. /tasks görevleri listeler.',
      taskHelp: '/task ve görevin kimliğini yaz; durdurmak için cancel ekle: /task ID cancel.',
      taskRunning: 'sürüyor',
      taskEnded: 'bitti',
      taskSays: 'Görev {task}: {text}',
      question: 'Buradaki bir sonraki mesajın bu soruyu cevaplar.',
      questionAnswered: 'Teşekkürler, cevabın iletildi.',
      reminder: 'Hatırlatma: {text}',
    },
    formal: {
      unsupported: 'Bu tür bir mesajı burada açamıyorum. Lütfen metin olarak yazın.',
      failed: 'Üzgünüm, şu anda cevap veremiyorum. Lütfen daha sonra tekrar deneyin.',
      unreachable:
        'Şu anda bir cevap alamıyorum. Denemeye devam ediyorum ve cevabı alır almaz size yazacağım.',
      noAnswer: 'Mesajınıza verecek bir cevabım yok.',
      help: 'Şunları yazabilirsiniz:',
      helpAlso: 'Şunları da yazabilirsiniz:',
      status: 'Buradayım ve mesajlarınıza cevap veriyorum.',
      statusApproving: 'Buradayım. Cevaplarımı size ulaşmadan önce bir kişi okuyor.',
      quota: 'Şimdilik mesaj sınırına ulaştınız. Lütfen {minutes} dakika sonra tekrar yazın.',
      ownerAsk:
        '{name} ({address}) ilk kez yazdı: "{text}"\nAsistanın cevap vermesi için buraya yazın: #approve {id}\nAksi halde: #refuse {id}',
      ownerAskGroup:
        '{name} bir grupta yazdı ({address}): "{text}"\nAsistanın bu grupta cevap vermesi için buraya yazın: #approve {id}\nAksi halde: #refuse {id}',
      ownerDraft:
        '{name} ({address}) yazdı: "{text}"\nCevap sizi bekliyor:\n\n{draft}\n\nGöndermek için buraya yazın: #send {id}\nBaşka sözlerle: #edit {id} metniniz\nCevap yok: #drop {id}',
      ownerNoDraft: 'Sizi bekleyen {id} numaralı bir cevap yok.',
      taskHelp: '/task ve görevin kimliğini yazın; durdurmak için cancel ekleyin: /task ID cancel.',
      question: 'Buradaki bir sonraki mesajınız bu soruyu cevaplar.',
      questionAnswered: 'Teşekkürler, cevabınız iletildi.',
    },
  },
  id: {
    words:
      /(?<!\p{L})(?:yang|dan|saya|aku|apa|tidak|nggak|gak|ini|itu|bisa|mau|terima kasih|selamat|tolong|dengan|untuk|kamu|anda|berapa|sudah|belum|kak)(?!\p{L})/giu,
    countries: /^62/,
    texts: {
      unsupported: 'Saya tidak bisa membuka jenis pesan ini di sini. Silakan tulis sebagai teks.',
      failed: 'Maaf, saat ini saya tidak bisa menjawab. Silakan coba lagi nanti.',
      slow: 'Ini perlu waktu sedikit lebih lama. Jawabannya segera datang.',
      unreachable:
        'Saat ini saya belum mendapat jawaban. Saya terus mencoba dan akan menulis begitu ada jawaban.',
      noAnswer: 'Saya tidak punya jawaban untuk pesan Anda.',
      new: 'Percakapan baru dimulai.',
      stop: 'Dihentikan.',
      stopNone: 'Tidak ada yang sedang berjalan.',
      help: 'Anda bisa menulis:',
      helpAlso: 'Anda juga bisa menulis:',
      helpNew: 'memulai percakapan baru',
      helpStop: 'menghentikan jawaban yang sedang dibuat',
      helpStatus: 'melihat keadaan percakapan ini',
      helpHelp: 'melihat bantuan ini',
      status: 'Saya di sini dan menjawab pesan Anda.',
      statusApproving: 'Saya di sini. Seseorang membaca jawaban saya sebelum Anda menerimanya.',
      statusSince: 'Percakapan ini dimulai pada {since}.',
      quota: 'Anda sudah mencapai batas pesan untuk saat ini. Silakan menulis lagi dalam {minutes} menit.',
      ownerAsk:
        '{name} ({address}) menulis untuk pertama kali: "{text}"\nAgar agen menjawab, tulis di sini: #approve {id}\nJika tidak: #refuse {id}',
      ownerAskGroup:
        '{name} menulis di sebuah grup ({address}): "{text}"\nAgar agen menjawab di grup ini, tulis di sini: #approve {id}\nJika tidak: #refuse {id}',
      ownerApproved: 'Disetujui: {address}.',
      ownerRefused: 'Ditolak: {address}.',
      ownerUnknown: 'Tidak ada obrolan dengan nomor {id}.',
      ownerDraft:
        '{name} ({address}) menulis: "{text}"\nJawabannya menunggu Anda:\n\n{draft}\n\nUntuk mengirimnya, tulis di sini: #send {id}\nKata-kata lain: #edit {id} teks Anda\nTanpa jawaban: #drop {id}',
      ownerSent: 'Dikirim ke {address}.',
      ownerDropped: 'Tidak dikirim ke {address}.',
      ownerNoDraft: 'Tidak ada jawaban dengan nomor {id} yang menunggu Anda.',
      taskStarted: 'Tugas {task} dimulai, saya akan mengabari di sini.',
      taskDone: 'Tugas {task} selesai.',
      taskFailed: 'Tugas {task} gagal.',
      taskCanceled: 'Tugas {task} dibatalkan.',
      taskCanceling: 'Tugas {task} akan dibatalkan.',
      taskNotCanceled: 'Agen tidak membatalkan tugas {task}.',
      taskNone: 'Obrolan ini tidak punya tugas.',
      taskUnknown: 'Obrolan ini tidak punya tugas {task}. /tasks menampilkan tugasnya.',
      taskHelp: 'Tulis /task dan id tugas, lalu cancel untuk menghentikannya: /task ID cancel.',
      taskRunning: 'berjalan',
      taskEnded: 'selesai',
      taskSays: 'Tugas {task}: {text}',
      question: 'Pesan Anda berikutnya di sini menjawab pertanyaan ini.',
      questionAnswered: 'Terima kasih, jawaban Anda sudah diteruskan.',
      reminder: 'Pengingat: {text}',
    },
    informal: {
      unsupported: 'Aku tidak bisa membuka jenis pesan ini di sini. Tulis sebagai teks, ya.',
      failed: 'Maaf, saat ini aku tidak bisa menjawab. Coba lagi nanti, ya.',
      unreachable:
        'Saat ini aku belum mendapat jawaban. Aku terus mencoba dan akan menulis begitu ada jawaban.',
      noAnswer: 'Aku tidak punya jawaban untuk pesanmu.',
      help: 'Kamu bisa menulis:',
      helpAlso: 'Kamu juga bisa menulis:',
      status: 'Aku di sini dan menjawab pesanmu.',
      statusApproving: 'Aku di sini. Seseorang membaca jawabanku sebelum kamu menerimanya.',
      quota: 'Kamu sudah mencapai batas pesan untuk saat ini. Tulis lagi dalam {minutes} menit, ya.',
      ownerDraft:
        '{name} ({address}) menulis: "{text}"\nJawabannya menunggumu:\n\n{draft}\n\nUntuk mengirimnya, tulis di sini: #send {id}\nKata-kata lain: #edit {id} teksmu\nTanpa jawaban: #drop {id}',
      ownerNoDraft: 'Tidak ada jawaban dengan nomor {id} yang menunggumu.',
      taskStarted: 'Tugas {task} dimulai, aku akan mengabari di sini.',
      question: 'Pesanmu berikutnya di sini menjawab pertanyaan ini.',
      questionAnswered: 'Terima kasih, jawabanmu sudah diteruskan.',
    },
  },
  hi: {
    words:
      /(?<![\p{L}\p{M}])(?:है|हैं|हूँ|क्या|कैसे|मैं|मुझे|आप|का|की|के|में|नमस्ते|धन्यवाद|नहीं|कितना|कितने|कब|कहाँ|हाँ|और)(?![\p{L}\p{M}])/gu,
    texts: {
      unsupported: 'मैं यहाँ इस तरह का संदेश नहीं खोल सकता। कृपया इसे लिखकर भेजें।',
      failed: 'माफ़ कीजिए, मैं अभी जवाब नहीं दे सकता। कृपया बाद में फिर कोशिश करें।',
      slow: 'इसमें थोड़ा और समय लग रहा है। जवाब आने वाला है।',
      unreachable: 'मुझे अभी जवाब नहीं मिल रहा है। मैं कोशिश करता रहूँगा और मिलते ही आपको लिखूँगा।',
      noAnswer: 'आपके संदेश के लिए मेरे पास कोई जवाब नहीं है।',
      new: 'नई बातचीत शुरू होती है।',
      stop: 'रोक दिया गया।',
      stopNone: 'अभी कुछ नहीं चल रहा है।',
      help: 'आप लिख सकते हैं:',
      helpAlso: 'आप यह भी लिख सकते हैं:',
      helpNew: 'नई बातचीत शुरू करें',
      helpStop: 'बन रहे जवाब को रोकें',
      helpStatus: 'इस बातचीत की स्थिति देखें',
      helpHelp: 'यह मदद देखें',
      status: 'मैं यहाँ हूँ और आपके संदेशों का जवाब देता हूँ।',
      statusApproving: 'मैं यहाँ हूँ। मेरे जवाब आप तक पहुँचने से पहले एक व्यक्ति उन्हें पढ़ता है।',
      statusSince: 'यह बातचीत {since} को शुरू हुई।',
      quota: 'अभी के लिए संदेशों की सीमा पूरी हो गई है। कृपया {minutes} मिनट बाद फिर लिखें।',
      ownerAsk:
        '{name} ({address}) ने पहली बार लिखा: "{text}"\nएजेंट जवाब दे, इसके लिए यहाँ लिखें: #approve {id}\nनहीं तो: #refuse {id}',
      ownerAskGroup:
        '{name} ने एक समूह ({address}) में लिखा: "{text}"\nएजेंट इस समूह में जवाब दे, इसके लिए यहाँ लिखें: #approve {id}\nनहीं तो: #refuse {id}',
      ownerApproved: 'मंज़ूर: {address}।',
      ownerRefused: 'नामंज़ूर: {address}।',
      ownerUnknown: '{id} नंबर की कोई चैट नहीं है।',
      ownerDraft:
        '{name} ({address}) ने लिखा: "{text}"\nजवाब आपका इंतज़ार कर रहा है:\n\n{draft}\n\nभेजने के लिए यहाँ लिखें: #send {id}\nदूसरे शब्दों में: #edit {id} आपका पाठ\nकोई जवाब नहीं: #drop {id}',
      ownerSent: '{address} को भेजा गया।',
      ownerDropped: '{address} को नहीं भेजा गया।',
      ownerNoDraft: '{id} नंबर का कोई जवाब आपका इंतज़ार नहीं कर रहा है।',
      taskStarted: 'कार्य {task} शुरू हो गया है, मैं यहाँ बताऊँगा।',
      taskDone: 'कार्य {task} पूरा हो गया है।',
      taskFailed: 'कार्य {task} सफल नहीं हुआ।',
      taskCanceled: 'कार्य {task} रद्द कर दिया गया।',
      taskCanceling: 'कार्य {task} रद्द किया जाएगा।',
      taskNotCanceled: 'एजेंट कार्य {task} को रद्द नहीं करता।',
      taskNone: 'इस चैट में कोई कार्य नहीं है।',
      taskUnknown: 'इस चैट में कार्य {task} नहीं है। /tasks इसके कार्य दिखाता है।',
      taskHelp: '/task और कार्य की आईडी लिखें, और रोकने के लिए cancel: /task ID cancel.',
      taskRunning: 'चल रहा है',
      taskEnded: 'समाप्त',
      taskSays: 'कार्य {task}: {text}',
      question: 'यहाँ आपका अगला संदेश इस सवाल का जवाब होगा।',
      questionAnswered: 'धन्यवाद, आपका जवाब आगे भेज दिया गया है।',
      reminder: 'याद दिलाना: {text}',
    },
  },
  ar: {
    words:
      /(?<!\p{L})(?:مرحبا|السلام|عليكم|كيف|حالك|في|على|هل|هذا|هذه|أريد|اريد|شكرا|شكرًا|سمحت|كم|أين|وين|متى|نعم|أنا|انا|ممكن|صباح|مساء|الخير|شو|عايز)(?!\p{L})/gu,
    countries: /^(?:20|218|249|96[2-8]|97[0134])/,
    texts: {
      unsupported: 'لا يمكنني فتح هذا النوع من الرسائل هنا. يُرجى كتابتها كنص.',
      failed: 'عذرًا، لا يمكنني الرد الآن. يُرجى المحاولة لاحقًا.',
      slow: 'يستغرق هذا وقتًا أطول قليلًا. الرد في الطريق.',
      unreachable: 'لا أحصل على رد الآن. سأواصل المحاولة وأكتب لك فور وصوله.',
      noAnswer: 'ليس لديّ رد على رسالتك.',
      new: 'بدأت محادثة جديدة.',
      stop: 'تم الإيقاف.',
      stopNone: 'لا يوجد شيء قيد التنفيذ.',
      help: 'يمكنك كتابة:',
      helpAlso: 'يمكنك أيضًا كتابة:',
      helpNew: 'بدء محادثة جديدة',
      helpStop: 'إيقاف الرد الجاري إعداده',
      helpStatus: 'عرض حالة هذه المحادثة',
      helpHelp: 'عرض هذه المساعدة',
      status: 'أنا هنا وأرد على رسائلك.',
      statusApproving: 'أنا هنا. يقرأ شخص ردودي قبل أن تصلك.',
      statusSince: 'بدأت هذه المحادثة في {since}.',
      quota: 'بلغت الحد المسموح من الرسائل حاليًا. يُرجى الكتابة مجددًا بعد {minutes} دقيقة.',
      ownerAsk:
        'كتب {name} ({address}) للمرة الأولى: "{text}"\nلكي يرد الوكيل، اكتب هنا: #approve {id}\nوإلا: #refuse {id}',
      ownerAskGroup:
        'كتب {name} في مجموعة ({address}): "{text}"\nلكي يرد الوكيل في هذه المجموعة، اكتب هنا: #approve {id}\nوإلا: #refuse {id}',
      ownerApproved: 'تمت الموافقة: {address}.',
      ownerRefused: 'تم الرفض: {address}.',
      ownerUnknown: 'لا توجد محادثة بالرقم {id}.',
      ownerDraft:
        'كتب {name} ({address}): "{text}"\nالرد بانتظارك:\n\n{draft}\n\nلإرساله، اكتب هنا: #send {id}\nبكلمات أخرى: #edit {id} نصك\nدون رد: #drop {id}',
      ownerSent: 'أُرسل إلى {address}.',
      ownerDropped: 'لم يُرسل إلى {address}.',
      ownerNoDraft: 'لا يوجد رد بالرقم {id} بانتظارك.',
      taskStarted: 'بدأت المهمة {task}، وسأخبرك هنا.',
      taskDone: 'اكتملت المهمة {task}.',
      taskFailed: 'فشلت المهمة {task}.',
      taskCanceled: 'أُلغيت المهمة {task}.',
      taskCanceling: 'ستُلغى المهمة {task}.',
      taskNotCanceled: 'الوكيل لا يلغي المهمة {task}.',
      taskNone: 'لا توجد مهام في هذه المحادثة.',
      taskUnknown: 'لا توجد المهمة {task} في هذه المحادثة. يعرض /tasks مهامها.',
      taskHelp: 'اكتب /task ومعرّف المهمة، و cancel لإيقافها: /task ID cancel.',
      taskRunning: 'قيد التنفيذ',
      taskEnded: 'انتهت',
      taskSays: 'المهمة {task}: {text}',
      question: 'رسالتك التالية هنا تجيب عن هذا السؤال.',
      questionAnswered: 'شكرًا، تم تمرير ردك.',
      reminder: 'تذكير: {text}',
    },
  },
  ru: {
    words:
      /(?<!\p{L})(?:и|что|как|это|мне|меня|вы|здравствуйте|привет|спасибо|пожалуйста|сколько|можно|добрый|есть|хочу|когда|где)(?!\p{L})/giu,
    countries: /^(?:7|375)/,
    texts: {
      unsupported: 'Я не могу открыть здесь такое сообщение. Пожалуйста, напишите его текстом.',
      failed: 'Извините, сейчас я не могу ответить. Пожалуйста, попробуйте позже.',
      slow: 'Это займёт немного больше времени. Ответ уже готовится.',
      unreachable: 'Сейчас я не получаю ответа. Я продолжаю пробовать и напишу, как только он будет.',
      noAnswer: 'У меня нет ответа на ваше сообщение.',
      new: 'Начинается новый разговор.',
      stop: 'Остановлено.',
      stopNone: 'Сейчас ничего не выполняется.',
      help: 'Вы можете написать:',
      helpAlso: 'Вы также можете написать:',
      helpNew: 'начать новый разговор',
      helpStop: 'остановить ответ, который готовится',
      helpStatus: 'показать состояние этого разговора',
      helpHelp: 'показать эту справку',
      status: 'Я на связи и отвечаю на ваши сообщения.',
      statusApproving: 'Я на связи. Человек читает мои ответы, прежде чем вы их получите.',
      statusSince: 'Этот разговор начался {since}.',
      quota: 'Пока вы достигли предела сообщений. Пожалуйста, напишите снова через {minutes} мин.',
      ownerAsk:
        '{name} ({address}) пишет впервые: "{text}"\nЧтобы агент отвечал, напишите здесь: #approve {id}\nИначе: #refuse {id}',
      ownerAskGroup:
        '{name} пишет в группе ({address}): "{text}"\nЧтобы агент отвечал в этой группе, напишите здесь: #approve {id}\nИначе: #refuse {id}',
      ownerApproved: 'Одобрено: {address}.',
      ownerRefused: 'Отклонено: {address}.',
      ownerUnknown: 'Нет чата с номером {id}.',
      ownerDraft:
        '{name} ({address}) пишет: "{text}"\nОтвет ждёт вас:\n\n{draft}\n\nЧтобы отправить его, напишите здесь: #send {id}\nДругими словами: #edit {id} ваш текст\nБез ответа: #drop {id}',
      ownerSent: 'Отправлено: {address}.',
      ownerDropped: 'Не отправлено: {address}.',
      ownerNoDraft: 'Нет ответа с номером {id}, который ждёт вас.',
      taskStarted: 'Задача {task} начата, я сообщу здесь.',
      taskDone: 'Задача {task} выполнена.',
      taskFailed: 'Задача {task} не удалась.',
      taskCanceled: 'Задача {task} отменена.',
      taskCanceling: 'Задача {task} будет отменена.',
      taskNotCanceled: 'Агент не отменяет задачу {task}.',
      taskNone: 'В этом чате нет задач.',
      taskUnknown: 'В этом чате нет задачи {task}. /tasks показывает его задачи.',
      taskHelp: 'Напишите /task и номер задачи, а чтобы остановить её — cancel: /task ID cancel.',
      taskRunning: 'выполняется',
      taskEnded: 'завершена',
      taskSays: 'Задача {task}: {text}',
      question: 'Ваше следующее сообщение здесь ответит на этот вопрос.',
      questionAnswered: 'Спасибо, ваш ответ передан.',
      reminder: 'Напоминание: {text}',
    },
    informal: {
      unsupported: 'Я не могу открыть здесь такое сообщение. Пожалуйста, напиши его текстом.',
      failed: 'Извини, сейчас я не могу ответить. Пожалуйста, попробуй позже.',
      noAnswer: 'У меня нет ответа на твоё сообщение.',
      help: 'Ты можешь написать:',
      helpAlso: 'Ты также можешь написать:',
      status: 'Я на связи и отвечаю на твои сообщения.',
      statusApproving: 'Я на связи. Человек читает мои ответы, прежде чем ты их получишь.',
      quota: 'Пока достигнут предел сообщений. Пожалуйста, напиши снова через {minutes} мин.',
      ownerAsk:
        '{name} ({address}) пишет впервые: "{text}"\nЧтобы агент отвечал, напиши здесь: #approve {id}\nИначе: #refuse {id}',
      ownerAskGroup:
        '{name} пишет в группе ({address}): "{text}"\nЧтобы агент отвечал в этой группе, напиши здесь: #approve {id}\nИначе: #refuse {id}',
      ownerDraft:
        '{name} ({address}) пишет: "{text}"\nОтвет ждёт тебя:\n\n{draft}\n\nЧтобы отправить его, напиши здесь: #send {id}\nДругими словами: #edit {id} твой текст\nБез ответа: #drop {id}',
      ownerNoDraft: 'Нет ответа с номером {id}, который ждёт тебя.',
      taskHelp: 'Напиши /task и номер задачи, а чтобы остановить её — cancel: /task ID cancel.',
      question: 'Твоё следующее сообщение здесь ответит на этот вопрос.',
      questionAnswered: 'Спасибо, твой ответ передан.',
    },
  },
  ja: {
    words: /[\p{Script=Hiragana}\p{Script=Katakana}]+/gu,
    countries: /^81/,
    texts: {
      unsupported: 'この種類のメッセージはここでは開けません。文字で書いてください。',
      failed: '申し訳ありません。今はお答えできません。後でもう一度お試しください。',
      slow: 'もう少し時間がかかります。まもなくお答えします。',
      unreachable: '今は回答を得られません。引き続き試して、回答があり次第お送りします。',
      noAnswer: 'このメッセージへの回答はありません。',
      new: '新しい会話を始めます。',
      stop: '停止しました。',
      stopNone: '実行中のものはありません。',
      help: '次のように書けます:',
      helpAlso: '次のようにも書けます:',
      helpNew: '新しい会話を始める',
      helpStop: '作成中の回答を止める',
      helpStatus: 'この会話の状態を見る',
      helpHelp: 'このヘルプを見る',
      status: 'ここにいて、メッセージにお答えしています。',
      statusApproving: 'ここにいます。回答は、お届けする前に担当者が確認します。',
      statusSince: 'この会話は{since}に始まりました。',
      quota: '今はメッセージの上限に達しました。{minutes}分後にもう一度書いてください。',
      ownerAsk:
        '{name} ({address}) さんが初めて書きました: "{text}"\nエージェントに回答させるには、ここに書いてください: #approve {id}\n回答させない場合: #refuse {id}',
      ownerAskGroup:
        '{name} さんがグループ ({address}) で書きました: "{text}"\nこのグループでエージェントに回答させるには、ここに書いてください: #approve {id}\n回答させない場合: #refuse {id}',
      ownerApproved: '承認しました: {address}',
      ownerRefused: '拒否しました: {address}',
      ownerUnknown: '番号 {id} のチャットはありません。',
      ownerDraft:
        '{name} ({address}) さんが書きました: "{text}"\n回答があなたの確認を待っています:\n\n{draft}\n\n送るには、ここに書いてください: #send {id}\n別の言葉で: #edit {id} 文章\n回答しない: #drop {id}',
      ownerSent: '{address} に送りました。',
      ownerDropped: '{address} には送りませんでした。',
      ownerNoDraft: '番号 {id} の回答は待っていません。',
      taskStarted: 'タスク {task} を開始しました。結果はここでお知らせします。',
      taskDone: 'タスク {task} が完了しました。',
      taskFailed: 'タスク {task} は失敗しました。',
      taskCanceled: 'タスク {task} は取り消されました。',
      taskCanceling: 'タスク {task} を取り消します。',
      taskNotCanceled: 'エージェントはタスク {task} を取り消しません。',
      taskNone: 'このチャットにタスクはありません。',
      taskUnknown: 'このチャットにタスク {task} はありません。/tasks でタスクを一覧できます。',
      taskHelp: '/task とタスクの ID を書いてください。止めるには cancel を付けます: /task ID cancel',
      taskRunning: '実行中',
      taskEnded: '終了',
      taskSays: 'タスク {task}: {text}',
      question: 'ここでの次のメッセージが、この質問への回答になります。',
      questionAnswered: 'ありがとうございます。回答を伝えました。',
      reminder: 'リマインダー: {text}',
    },
  },
} satisfies Record<string, ChatLanguage>;

export type Language = keyof typeof CHAT_LANGUAGES;

const ENTRIES: Record<Language, ChatLanguage> = CHAT_LANGUAGES;

/** Languages of the texts that wa2ai itself sends: codes of BCP 47. */
export const LANGUAGES = Object.keys(CHAT_LANGUAGES) as [Language, ...Language[]];

const PLACEHOLDERS = /\{(\w+)\}/g;

/** Portuguese words are written in Portugal and in Brazil; most people who write them are Brazilians. */
const OF_PORTUGAL: Language = 'pt';

/** How wa2ai's own texts read: of a route, or of all. */
export interface TextSettings {
  formOfAddress: (typeof FORMS_OF_ADDRESS)[number];
  /** The operator's texts, which replace those of wa2ai, by language and name. */
  own: Partial<Record<`${Language}.${TextName}`, string>>;
}

/** A text of wa2ai; `{name}` is replaced by the value of that name. */
export function textOf(
  name: TextName,
  language: Language,
  { formOfAddress, own }: TextSettings,
  values: Record<string, string | number> = {},
): string {
  const { texts, formal, informal } = ENTRIES[language];
  const others = { usual: undefined, formal, informal }[formOfAddress];
  const text = own[`${language}.${name}`] ?? others?.[name] ?? texts[name];
  const filled = (part: string) => part.replace(PLACEHOLDERS, (_, key: string) => String(values[key] ?? ''));
  return text.replace(INLINE, (part) => (part === DRAFT ? filled(part) : inline(filled(part), language)));
}

/** What is read from left to right in every language, or as its own words are: commands with their number, and values. */
const INLINE = /#\w+ \{id\}|\/tasks?(?: ID cancel)?|\{\w+\}/g;
/** The value that stands in paragraphs of its own. */
const DRAFT = '{draft}';
const RIGHT_TO_LEFT: ReadonlySet<Language> = new Set<Language>(['ar']);
const RIGHT_TO_LEFT_MARK = '\u200f';
const [FIRST_STRONG_ISOLATE, POP_DIRECTIONAL_ISOLATE] = ['\u2068', '\u2069'];

/**
 * A command, number or name within words of the language. Among words from right to left it is isolated, because its `#`, `/` or `+`
 * would be shown at its end, and a line that begins with it would be read from left to right.
 */
export function inline(text: string, language: Language): string {
  if (!RIGHT_TO_LEFT.has(language)) return text;
  return `${RIGHT_TO_LEFT_MARK}${FIRST_STRONG_ISOLATE}${text}${POP_DIRECTIONAL_ISOLATE}`;
}

/** Says a text of wa2ai to one person. */
export type SayInChat = (name: TextName, values?: Record<string, string | number>) => string;

/** Says texts of wa2ai in a language, as the settings of a chat want them. */
export function sayingIn(language: Language, settings: TextSettings): SayInChat {
  return (name, values) => textOf(name, language, settings, values);
}

/** For whom neither language nor settings are known. */
export const sayInEnglish = sayingIn('en', { formOfAddress: 'usual', own: {} });

/** A placeholder of the operator's text that the text of wa2ai does not have; undefined: there is none. */
export function unknownPlaceholder(name: TextName, text: string): string | undefined {
  const known: readonly string[] = ENTRIES.en.texts[name].match(PLACEHOLDERS) ?? [];
  return text.match(PLACEHOLDERS)?.find((placeholder) => !known.includes(placeholder));
}

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
  const ofCountry = languageOfCountry(phone);
  const ofWords = languageOfWords(text) ?? written;
  if (ofWords !== OF_PORTUGAL) return ofWords ?? ofCountry;
  return ofCountry === OF_PORTUGAL ? OF_PORTUGAL : 'pt-BR';
}

function languageOfCountry(phone: string | undefined): Language | undefined {
  if (phone === undefined) return undefined;
  return LANGUAGES.find((language) => ENTRIES[language].countries?.test(phone));
}

/** The language that words are clearly in; undefined when they do not say it. */
export function languageOfWords(text: string): Language | undefined {
  const start = text.slice(0, 500);
  const scores = LANGUAGES.map((language) => {
    const { words } = ENTRIES[language];
    return { language, score: (words && start.match(words)?.length) ?? 0 };
  });
  const [best, second] = scores.sort((a, b) => b.score - a.score);
  return best && best.score > (second?.score ?? 0) ? best.language : undefined;
}

/** The code of a language in two letters, without its country. */
export function twoLettersOf(language: Language): string {
  return language.slice(0, 2);
}

/** The number of the person who wrote a message, when it is known. */
export function phoneOf({ from }: { from: string }): string | undefined {
  const address = parseJid(from);
  return address?.kind === 'phone' ? address.phone : undefined;
}
