/** Sentences of the service in Spanish, by their English form. `{}` is a value, and `{1}` the first of them. */
export const SPANISH_SENTENCES: Readonly<Record<string, string>> = {
  'The process of wa2ai ended at least three times while it answered this message: it did not respond any more, ran out of memory or crashed.':
    'El proceso de wa2ai terminó al menos tres veces mientras contestaba este mensaje: dejó de responder, agotó la memoria o falló.',
  // Why an encrypted edit is not read
  'wa2ai does not read this kind of encrypted change.': 'wa2ai no lee esta clase de cambio cifrado.',
  'wa2ai does not have the message that the edit names.': 'wa2ai no tiene el mensaje que la edición indica.',
  'Somebody else wrote the message. Only its author can edit it.':
    'Otra persona escribió el mensaje. Solo su autor puede editarlo.',
  'The message was stored without its secret, by an earlier version, or the secret was removed because of its age, or is damaged.':
    'El mensaje se guardó sin su secreto, con una versión anterior, o el secreto se borró por su antigüedad o está dañado.',
  'The secret of the message does not decrypt the edit.': 'El secreto del mensaje no descifra la edición.',
  'The decrypted edit has no content that wa2ai reads.':
    'La edición descifrada no tiene un contenido que wa2ai lea.',

  // Which route takes a message
  'This rule takes the message.': 'Esta regla toma el mensaje.',
  'Not evaluated: an earlier rule took the message.': 'Sin evaluar: una regla anterior tomó el mensaje.',
  'Its conditions (`when`) do not hold.': 'Sus condiciones (`when`) no se cumplen.',
  'Its regexFilter does not match the text.': 'Su regexFilter no coincide con el texto.',
  'Its regexFilter took too long on this text and was stopped; write a simpler pattern.':
    'Su regexFilter tardó demasiado con este texto y se detuvo; escriba un patrón más simple.',
  'Its regexFilter is not a valid pattern; correct it.': 'Su regexFilter no es un patrón válido; corríjalo.',
  'It is disabled.': 'Está desactivada.',
  'It was changed meanwhile: If-Match does not have its present ETag, and nothing was stored. Read it again, and repeat the change with the new ETag if it is still wanted.':
    'Se cambió entretanto: If-Match no tiene su ETag actual, y no se guardó nada. Léalo de nuevo y repita el cambio con el nuevo ETag si aún lo quiere.',
  'It belongs to the other environment.': 'Es del otro entorno.',
  'It is for another chat.': 'Es para otro chat.',
  'It is for another WhatsApp account.': 'Es para otra cuenta de WhatsApp.',
  'The chat of the playground names this route.': 'El chat del área de pruebas indica esta ruta.',
  'The chat is paused until {}.': 'El chat está en pausa hasta {1}.',
  'The chat is paused until it is resumed.': 'El chat está en pausa hasta que se reanude.',
  'Route {} takes the message to {}.': 'La ruta {1} lleva el mensaje a {2}.',
  'Route {} takes the message, but its stored config cannot be used: {}. Write its config again.':
    'La ruta {1} toma el mensaje, pero su configuración guardada no se puede usar: {2}. Escríbala otra vez.',
  'No rule is for this chat, account and environment, and there is no wildcard rule; add one.':
    'Ninguna regla es para este chat, esta cuenta y este entorno, y no hay una regla general; añada una.',
  'Every rule for this chat is disabled.': 'Todas las reglas para este chat están desactivadas.',
  'Rules for this chat exist, and the conditions (`when`) of none hold.':
    'Hay reglas para este chat, y no se cumplen las condiciones (`when`) de ninguna.',
  'Rules for this chat exist, and none of their patterns matches the text.':
    'Hay reglas para este chat, y ninguno de sus patrones coincide con el texto.',
  'No rule matched, and the pattern of at least one took too long on this text.':
    'Ninguna regla coincidió, y el patrón de al menos una tardó demasiado con este texto.',
  'The pattern of every rule for this chat is broken.':
    'El patrón de todas las reglas para este chat no es válido.',
  '{} must be the address of {}: an international number, a JID or a group id.':
    '{1} debe ser la dirección de {2}: un número internacional, un JID o el id de un grupo.',

  // Conditions
  'It is {} in {}; the hours are {}.': 'Son las {1} en {2}; el horario es {3}.',
  'It is {} in {}; the days are {}.': 'El día es {1} en {2}; los días son {3}.',
  'The hours began on {} in {}; the days are {}.': 'El horario empezó el día {1} en {2}; los días son {3}.',
  'The kind of the message is {}; the kinds are {}.': 'El tipo del mensaje es {1}; los tipos son {2}.',
  'The chat is a group.': 'El chat es un grupo.',
  'The chat is no group.': 'El chat no es un grupo.',
  'The message mentions the account.': 'El mensaje menciona a la cuenta.',
  'The message does not mention the account.': 'El mensaje no menciona a la cuenta.',
  'The message replies to one of the account.': 'El mensaje responde a uno de la cuenta.',
  'The message does not reply to one of the account.': 'El mensaje no responde a uno de la cuenta.',
  'No message of the chat was answered before.': 'Ningún mensaje del chat se respondió antes.',
  'A message of the chat was answered before.': 'Ya se respondió antes un mensaje del chat.',
  'The language of the text is not known; the languages are {}.':
    'El idioma del texto no se conoce; los idiomas son {1}.',
  'The text is in {}; the languages are {}.': 'El texto está en {1}; los idiomas son {2}.',
  'The chat has the tag {}.': 'El chat tiene la etiqueta {1}.',
  'The chat has none of the tags {}.': 'El chat no tiene ninguna de las etiquetas {1}.',
  'Which chats are in the {} percent is known once they are stored; this one is not.':
    'Qué chats están en el {1} por ciento se sabe cuando están guardados; este no lo está.',
  'The chat is in the {} percent of chats of this route.':
    'El chat está en el {1} por ciento de los chats de esta ruta.',
  'The chat is not in the {} percent of chats of this route.':
    'El chat no está en el {1} por ciento de los chats de esta ruta.',

  // Policies
  'Not evaluated: an earlier policy ended the turn.': 'Sin evaluar: una política anterior terminó el turno.',
  'It has nothing against the message.': 'No tiene nada en contra del mensaje.',
  'The list of access.list has the person or the group.':
    'La lista de access.list tiene a la persona o al grupo.',
  'The list of access.list has neither the person nor the group.':
    'La lista de access.list no tiene a la persona ni al grupo.',
  'The owner approved the chat.': 'El dueño aprobó el chat.',
  'The owner refused the chat.': 'El dueño rechazó el chat.',
  'The message waits until the owner approves the chat.':
    'El mensaje espera hasta que el dueño apruebe el chat.',
  'The owner approves answers of this chat before they are sent.':
    'El dueño aprueba las respuestas de este chat antes de que se envíen.',
  'The chat was paused when the message had its turn.':
    'El chat estaba en pausa cuando le tocó el turno al mensaje.',
  'The last {} turns look like two programs answering each other.':
    'Los últimos {1} turnos parecen dos programas que se responden el uno al otro.',
  'The route answers no messages in groups.': 'La ruta no responde a mensajes en grupos.',
  'The text matches a pattern of group.patterns.': 'El texto coincide con un patrón de group.patterns.',
  'The message replies to a message of the account.': 'El mensaje responde a un mensaje de la cuenta.',
  'The message neither mentions the account nor replies to one of its messages.':
    'El mensaje no menciona a la cuenta ni responde a un mensaje suyo.',
  'The person wrote /stop before the agent was called.':
    'La persona escribió /stop antes de llamar al agente.',
  'The person wrote /stop while the agent worked.': 'La persona escribió /stop mientras el agente trabajaba.',
  'It waits {} ms for further messages of the person.': 'Espera {1} ms otros mensajes de la persona.',
  'The person wrote {} messages in a row; they are one question.':
    'La persona escribió {1} mensajes seguidos; son una sola pregunta.',
  'No further message belongs to this one.': 'Ningún otro mensaje pertenece a este.',
  'The person wrote more than {} messages in {} minutes.':
    'La persona escribió más de {1} mensajes en {2} minutos.',
  'wa2ai answered the command /{} itself.': 'wa2ai mismo respondió el comando /{1}.',
  'The message answers a question that a program asked the person; its task got it.':
    'El mensaje responde a una pregunta que un programa hizo a la persona; la recibió su tarea.',
  'Its person did not write in the last 24 hours, and it is the quiet hours.':
    'Su persona no escribió en las últimas 24 horas, y es el horario de silencio.',
  'It is a first contact, and WhatsApp is asked about at most 10 new numbers a minute.':
    'Es un primer contacto, y a WhatsApp se le pregunta por 10 números nuevos por minuto como máximo.',
  'It is a first contact, and WhatsApp did not say whether the number has an account.':
    'Es un primer contacto, y WhatsApp no dijo si el número tiene una cuenta.',
  'It is a first contact, and the account may send {} in an hour and {} in 24 hours now.':
    'Es un primer contacto, y la cuenta puede enviar ahora {1} en una hora y {2} en 24 horas.',

  // Answers
  'The agent answered.': 'El agente respondió.',
  'The agent failed; the fallback route gets one attempt.':
    'El agente falló; la ruta alternativa tiene un intento.',
  "The agent failed; the route's fallback text is the reply.":
    'El agente falló; la respuesta es el texto alternativo de la ruta.',
  'The agent reported a failure without saying which.': 'El agente comunicó un fallo sin decir cuál.',
  'The agent answered with {} characters; at most {} are sent.':
    'El agente respondió con {1} caracteres; se envían como máximo {2}.',
  'The turn failed by a fault inside wa2ai ({}); its log has the cause.':
    'El turno falló por un fallo interno de wa2ai ({1}); su registro tiene la causa.',
  'The fallback route no longer exists.': 'La ruta alternativa ya no existe.',
  'The fallback route is disabled.': 'La ruta alternativa está desactivada.',
  'The fallback route is this route itself.': 'La ruta alternativa es esta misma ruta.',
  'The fallback route belongs to another WhatsApp account.':
    'La ruta alternativa es de otra cuenta de WhatsApp.',
  'The fallback route is of another environment.': 'La ruta alternativa es de otro entorno.',
  'Markdown of the answer was converted for WhatsApp.':
    'El Markdown de la respuesta se convirtió para WhatsApp.',
  'The answer has {} characters and was sent in {} messages.':
    'La respuesta tiene {1} caracteres y se envió en {2} mensajes.',
  "Nothing of the answer's text was sent; removed: {}.":
    'No se envió nada del texto de la respuesta; se quitó: {1}.',
  'Removed from the answer: {}.': 'Se quitó de la respuesta: {1}.',
  'A file of the type {} is neither a location nor contacts nor a poll, and was not sent.':
    'Un archivo del tipo {1} no es una ubicación, contactos ni una encuesta, y no se envió.',
  'The answer was spoken.': 'La respuesta se envió hablada.',
  'The answer has {} characters; up to {} are spoken.':
    'La respuesta tiene {1} caracteres; se hablan hasta {2}.',
  'The answer was shown while the agent wrote it, in {} message(s) until its end.':
    'La respuesta se mostró mientras el agente la escribía, en {1} mensaje(s) hasta su fin.',
  'The transcript of the voice message is empty.': 'La transcripción del mensaje de voz está vacía.',
  'The voice message was turned into text.': 'El mensaje de voz se convirtió en texto.',
  "{} {} of the answer's Markdown became files.":
    'Imágenes del Markdown de la respuesta que pasaron a ser archivos: {1}.',
  '{} {} that the answer names by URL became files.':
    'Archivos que la respuesta nombra por URL y que se enviaron: {1}.',

  // Accounts
  'Another client took over this link (440).': 'Otro programa tomó este vínculo (440).',
  'WhatsApp banned this account temporarily (402).': 'WhatsApp bloqueó esta cuenta temporalmente (402).',
  'WhatsApp asks for a passkey in a form that wa2ai does not know.':
    'WhatsApp pide una llave de acceso de una forma que wa2ai no conoce.',
  'WhatsApp refused the passkey, or did not answer.': 'WhatsApp rechazó la llave de acceso o no respondió.',
  'The codes on the page and on the phone differ, so nothing was linked.':
    'Los códigos de la página y del teléfono son distintos, por lo que no se vinculó nada.',
  'The connection ended.': 'La conexión terminó.',
  'The phone sent a key that cannot be used.': 'El teléfono envió una clave que no se puede usar.',
  'The phone continued in a form that wa2ai does not know.':
    'El teléfono continuó de una forma que wa2ai no conoce.',
  'The passkey was not used within 5 minutes.': 'La llave de acceso no se usó en 5 minutos.',
  'The phone did not continue within 2 minutes.': 'El teléfono no continuó en 2 minutos.',
  'The codes were not compared within 2 minutes.': 'Los códigos no se compararon en 2 minutos.',
  'WhatsApp did not link the account within 2 minutes.': 'WhatsApp no vinculó la cuenta en 2 minutos.',
  'The proxy of this account refuses its user name or password.':
    'El proxy de esta cuenta rechaza su usuario o su contraseña.',
  'The proxy of this account asks for a user name and password.':
    'El proxy de esta cuenta pide usuario y contraseña.',
  'The proxy of this account does not connect to WhatsApp ({}).':
    'El proxy de esta cuenta no conecta con WhatsApp ({1}).',
  'The proxy of this account did not answer within {} s.': 'El proxy de esta cuenta no respondió en {1} s.',
  'The proxy of this account does not answer ({}).': 'El proxy de esta cuenta no responde ({1}).',
  'The proxy of this account closed the connection, or is not a proxy of this kind.':
    'El proxy de esta cuenta cerró la conexión, o no es un proxy de este tipo.',
  'WhatsApp ended the link ({}).': 'WhatsApp terminó el vínculo ({1}).',
  'WhatsApp limits the rate of messages (429).': 'WhatsApp limita la frecuencia de los mensajes (429).',
  'WhatsApp limits this account ({}).': 'WhatsApp limita esta cuenta ({1}).',
  'WhatsApp limits writing to new contacts ({}).': 'WhatsApp limita los mensajes a contactos nuevos ({1}).',
  'WhatsApp limits the number of new chats: {} of {} are used.':
    'WhatsApp limita el número de chats nuevos: {1} de {2} están usados.',
  'WhatsApp limits writing to new contacts.': 'WhatsApp limita los mensajes a contactos nuevos.',
  'WhatsApp refuses the client version {} since {}.':
    'WhatsApp rechaza la versión {1} del cliente desde {2}.',
  'It is part of Baileys.': 'Es parte de Baileys.',
  'It was found at WhatsApp.': 'Se halló en WhatsApp.',
  'WA2AI_WHATSAPP_VERSION names it.': 'La indica WA2AI_WHATSAPP_VERSION.',
  'No newer version was found at {}.': 'En {1} no se halló una versión más nueva.',
  'The current version at {} is {}.': 'La versión actual en {1} es {2}.',
  'The client version {} is {} days old, and WhatsApp refused earlier ones after {} days: update wa2ai, or set WA2AI_WHATSAPP_VERSION=auto and allow HTTPS to web.whatsapp.com.':
    'La versión {1} del cliente es de hace {2} días, y WhatsApp rechazó las anteriores a los {3} días: actualice wa2ai, o indique WA2AI_WHATSAPP_VERSION=auto y permita HTTPS a web.whatsapp.com.',
  'Fix the database (see reason): wa2ai then connects again. WhatsApp queues what is sent meanwhile.':
    'Repare la base de datos (vea el motivo): wa2ai se conecta después. WhatsApp guarda lo que se envía mientras tanto.',
  'The server that answered has no certificate of WhatsApp. Check whether a proxy or firewall intercepts the connection.':
    'El servidor que respondió no tiene un certificado de WhatsApp. Revise si un proxy o cortafuegos intercepta la conexión.',
  'Nothing to do: a node is about to connect this account.':
    'No hay nada que hacer: un nodo está a punto de conectar esta cuenta.',
  'The database does not answer, so no message is received.':
    'La base de datos no responde, por lo que no se recibe ningún mensaje.',
  'The journal has messages of unknown chats that cannot be read: {}. They stay in the journal; ask the senders to write again.':
    'El diario tiene mensajes de chats desconocidos que no se pueden leer: {1}. Se quedan en el diario; pida a quienes los enviaron que escriban otra vez.',
  'Stored WhatsApp keys cannot be read and are treated as absent ({}); wa2ai asks phones to send the affected messages again.':
    'Hay claves de WhatsApp guardadas que no se pueden leer y cuentan como ausentes ({1}); wa2ai pide a los teléfonos que envíen otra vez los mensajes afectados.',

  // Problems of the API
  'wa2ai failed to handle this request. Its log has the cause.':
    'wa2ai falló al tratar esta petición. Su registro tiene la causa.',
  'A WhatsApp account has the id playground, or the playground is being deleted. Delete that account, or try again later.':
    'Una cuenta de WhatsApp tiene el id playground, o el área de pruebas se está eliminando. Elimine esa cuenta o inténtelo más tarde.',
  'Name the user whose sessions end.': 'Indique el usuario cuyas sesiones terminan.',
  'An HTTP server answers there, and its protocol is unknown. Check the path, or add a route with the kind of the agent.':
    'Ahí responde un servidor HTTP cuyo protocolo es desconocido. Revise la ruta de la dirección, o añada una ruta con el tipo del agente.',
  'No agent answers there. Start it, and check its address.':
    'Allí no responde ningún agente. Inícielo y revise su dirección.',
  'Only a user has a password: sign in as one.':
    'Solo un usuario tiene contraseña: inicie sesión como usuario.',
  'Pages of other sites may not call wa2ai.': 'Las páginas de otros sitios no pueden llamar a wa2ai.',
  'Send the header {}: 1 with each change, or use a key instead of a session.':
    'Envíe la cabecera {1}: 1 con cada cambio, o use una clave en lugar de una sesión.',
  'The NPC settings have no chain, or this node has no key.':
    'Los ajustes NPC no tienen cadena, o este nodo no tiene clave.',
  'The WhatsApp account with this id is still being deleted. Try again later.':
    'La cuenta de WhatsApp con este id todavía se está eliminando. Inténtelo más tarde.',
  'The account is linked. Log it out before pairing again.':
    'La cuenta está vinculada. Cierre su sesión antes de vincularla otra vez.',
  'The agent has no such file.': 'El agente no tiene ese archivo.',
  'The body is not a valid multipart/form-data form.':
    'El cuerpo no es un formulario multipart/form-data válido.',
  'The body is too large.': 'El cuerpo es demasiado grande.',
  'The body must be JSON: send Content-Type: application/json.':
    'El cuerpo debe ser JSON: envíe Content-Type: application/json.',
  'The body must be valid JSON.': 'El cuerpo debe ser JSON válido.',
  'The body must not be larger than {} MB.': 'El cuerpo no debe tener más de {1} MB.',
  'The caller has {} streams of live events on this node. Close some of them.':
    'Hay {1} flujos de eventos abiertos en este nodo. Cierre algunos.',
  'The charset of the body must be utf-8.': 'El juego de caracteres del cuerpo debe ser utf-8.',
  'The content encoding must be gzip, deflate, br or none.':
    'La codificación del contenido debe ser gzip, deflate, br o ninguna.',
  'The current password is wrong.': 'La contraseña actual no es correcta.',
  'The event is delivered, or waits for its next attempt.':
    'El evento está entregado o espera su próximo intento.',
  'The field "quote" is not the id of a message received.':
    'El campo "quote" no es el id de un mensaje recibido.',
  'The field "{}" is not the id of a {}.': 'El campo "{1}" no es el id de {2}.',
  'The key has used its requests of this {}. Try again in {}.':
    'La clave ha usado sus peticiones de este {1}. Inténtelo otra vez en {2}.',
  'The key lacks the scope {}.': 'A la clave le falta el permiso {1}.',
  'Your role lacks the scope {}.': 'A su rol le falta el permiso {1}.',
  'The caller has {} requests open on this node. End some of them.':
    'Quien llama tiene {1} peticiones abiertas en este nodo. Cierre algunas.',
  'The key may not use this chat.': 'La clave no puede usar este chat.',
  'The key may not use this account.': 'La clave no puede usar esta cuenta.',
  'The key may not use this route.': 'La clave no puede usar esta ruta.',
  'The key may use some chats only: name one as channelId.':
    'La clave solo puede usar algunos chats: indique uno como channelId.',
  'The key may use some chats only, which excludes this call.':
    'La clave solo puede usar algunos chats, lo que excluye esta llamada.',
  'The key may use some routes only, which excludes this call.':
    'La clave solo puede usar algunas rutas, lo que excluye esta llamada.',
  'The key may use some routes only: name one of them.':
    'La clave solo puede usar algunas rutas: indique una de ellas.',
  'The key may use some accounts only, which excludes this call.':
    'La clave solo puede usar algunas cuentas, lo que excluye esta llamada.',
  'The key may use some accounts only: name one as accountId.':
    'La clave solo puede usar algunas cuentas: indique una como accountId.',
  'The key, or the name and password, are wrong.': 'La clave, o el nombre y la contraseña, no son correctos.',
  'Sign in, or send a key as X-API-Key or as Authorization: Bearer.':
    'Inicie sesión, o envíe una clave como X-API-Key o como Authorization: Bearer.',
  'The key is not known: it is wrong, or it was revoked.':
    'La clave no se conoce: es incorrecta o fue revocada.',
  'The key has expired. Ask an admin for a new one.': 'La clave ha caducado. Pida una nueva.',
  'Without a login, wa2ai answers only programs and browsers of its own machine, and this request came through a proxy or from wa2ai itself. Set WA2AI_API_KEY, or add an owner: open /first-run in a browser of that machine.':
    'Sin un acceso configurado, wa2ai responde solo a programas y navegadores de su propio equipo, y esta petición llegó a través de un proxy o del propio wa2ai. Defina WA2AI_API_KEY o añada un propietario: abra /first-run en un navegador de ese equipo.',
  'The browser sent two session cookies of wa2ai, and one of them may be from another site of this host. Delete the cookies of this site and sign in again.':
    'El navegador envió dos cookies de sesión de wa2ai, y una de ellas puede ser de otro sitio de este host. Borre las cookies de este sitio e inicie sesión de nuevo.',
  'Too many requests are open. Try again in a few seconds.':
    'Hay demasiadas peticiones abiertas. Inténtelo de nuevo en unos segundos.',
  'Without a key or a session the body may have at most {} bytes.':
    'Sin una clave ni una sesión el cuerpo puede tener como máximo {} bytes.',
  'The link has expired.': 'El enlace ha caducado.',
  'The message has no file, or it is not stored any more.':
    'El mensaje no tiene archivo, o ya no está guardado.',
  'The message of this reply token was answered. Nothing was sent.':
    'El mensaje de este token de respuesta ya fue respondido. No se envió nada.',
  'The playground has a chat with this number.': 'El área de pruebas ya tiene un chat con este número.',
  'The playground has no chat with this id.': 'El área de pruebas no tiene ningún chat con este id.',
  'The playground has no such file.': 'El área de pruebas no tiene ese archivo.',
  'The request could not be read.': 'La petición no se pudo leer.',
  'The route table changed meanwhile. Read it again and repeat the call.':
    'La tabla de rutas cambió mientras tanto. Léala otra vez y repita la llamada.',
  'The webhook has no delivery with this id.': 'El webhook no tiene ninguna entrega con este id.',
  'There are {} webhooks, the most that are allowed. Delete one.':
    'Hay {1} webhooks, el máximo permitido. Elimine uno.',
  'There is a WhatsApp account with this id.': 'Ya hay una cuenta de WhatsApp con este id.',
  'There is a user with this name. Choose another name.':
    'Ya hay un usuario con este nombre. Elija otro nombre.',
  'There is no WhatsApp account with this id.': 'No hay ninguna cuenta de WhatsApp con este id.',
  'There is no such address.': 'No existe esa dirección.',
  'There is no chat with this id or address.': 'No hay ningún chat con este id o esta dirección.',
  'There is no dead letter with this id.': 'No hay ningún mensaje fallido con este id.',
  'There is no draft with this id, or it was decided before.':
    'No hay ningún borrador con este id, o ya se decidió.',
  'There is no hosted agent with this id.': 'No hay ningún agente alojado con este id.',
  'There is no key with this id.': 'No hay ninguna clave con este id.',
  'There is no message received with this id.': 'No hay ningún mensaje recibido con este id.',
  'There is no message with this id.': 'No hay ningún mensaje con este id.',
  'There is no route with this id or channelId.': 'No hay ninguna ruta con este id o channelId.',
  'There is no route with this id.': 'No hay ninguna ruta con este id.',
  'There is no scenario with this id.': 'No hay ningún escenario con este id.',
  'There is no session with this id.': 'No hay ninguna sesión con este id.',
  'There is no such link.': 'Ese enlace no existe.',
  'There is no such reply token.': 'Ese token de respuesta no existe.',
  'There is no such version of the route table, or not any more.':
    'Esa versión de la tabla de rutas no existe, o ya no existe.',
  'There is no task with this id.': 'No hay ninguna tarea con este id.',
  'There is no user with this name.': 'No hay ningún usuario con este nombre.',
  'There is no webhook with this id.': 'No hay ningún webhook con este id.',
  'There is nothing at this path.': 'No hay nada en esta ruta.',
  'This Idempotency-Key was used for another chat or message. Nothing was sent.':
    'Esta Idempotency-Key se usó para otro chat o mensaje. No se envió nada.',
  'This dead letter was replayed before, and its message or reply has not failed again.':
    'Este mensaje fallido ya se repitió y no ha vuelto a fallar.',
  'This id belongs to the playground. Choose another one.':
    'Este id pertenece al área de pruebas. Elija otro.',
  'This is the last owner who can sign in. Make another user an owner first.':
    'Es el último propietario que puede iniciar sesión. Haga propietario a otro usuario primero.',
  'This path accepts {} only.': 'Esta ruta solo acepta {1}.',
  'This reply token has expired. Nothing was sent.': 'Este token de respuesta ha caducado. No se envió nada.',
  'Too many attempts to sign in. Try again in {}.':
    'Demasiados intentos de iniciar sesión. Inténtelo otra vez en {1}.',
  'With a session, only pages of wa2ai may change something.':
    'Con una sesión, solo las páginas de wa2ai pueden cambiar algo.',
  'Without an admin key wa2ai accepts only requests to localhost or 127.0.0.1. Set WA2AI_API_KEY to use other names.':
    'Sin clave de administración, wa2ai solo acepta peticiones a localhost o 127.0.0.1. Defina WA2AI_API_KEY para usar otros nombres.',
  '{} routes have the channelId {}; use the id of one.':
    '{1} rutas tienen el channelId {2}; use el id de una.',
};

/** Words that stand for a value in a sentence, in the same form. */
export const SPANISH_VALUES: Readonly<Record<string, string>> = {
  'the agent that wa2ai runs for it': 'el agente que wa2ai ejecuta para ella',
  'a chat': 'un chat',
  'a person': 'una persona',
  second: 'segundo',
  minute: 'minuto',
  '{} second': '{1} segundo',
  '{} seconds': '{1} segundos',
  'message sent to the chat': 'un mensaje enviado al chat',
  'message of the chat': 'un mensaje del chat',
  'a phone number with its country code, a JID or a group id':
    'un número de teléfono con su código de país, un JID o el id de un grupo',
  string: 'un texto',
  number: 'un número',
  boolean: 'true o false',
  array: 'una lista',
  'whole number': 'un número entero',
};
