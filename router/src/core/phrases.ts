/**
 * The sentences of wa2ai that programs get with a code: those of traces, of account states, of problems, and what is wrong with a field (`field.…`, which
 * follows its name). A code never changes its meaning. `{name}` is a value.
 */
export const PHRASES = {
  sentences: '{sentences}',

  'turn.process-ended':
    'The process of wa2ai ended at least three times while it answered this message: it did not respond any more, ran out of memory or crashed.',
  'turn.fault': 'The turn failed by a fault inside wa2ai ({name}); its log has the cause.',

  'edit.unknown-kind': 'wa2ai does not read this kind of encrypted change.',
  'edit.no-original': 'wa2ai does not have the message that the edit names.',
  'edit.other-author': 'Somebody else wrote the message. Only its author can edit it.',
  'edit.no-secret':
    'The message was stored without its secret, by an earlier version, or the secret was removed because of its age, or is damaged.',
  'edit.not-decrypted': 'The secret of the message does not decrypt the edit.',
  'edit.no-content': 'The decrypted edit has no content that wa2ai reads.',

  'rule.takes': 'This rule takes the message.',
  'rule.not-reached': 'Not evaluated: an earlier rule took the message.',
  'rule.when-not-met': 'Its conditions (`when`) do not hold.',
  'rule.no-match': 'Its pattern (regexFilter) does not match the text.',
  'rule.regex-timeout':
    'Its pattern (regexFilter) took too long on this text and was stopped; write a simpler one.',
  'rule.regex-invalid': 'Its pattern (regexFilter) is not valid; correct it.',
  'rule.disabled': 'It is disabled.',
  'rule.other-environment': 'It belongs to the other environment.',
  'rule.other-chat': 'It is for another chat.',
  'rule.other-account': 'It is for another WhatsApp account.',
  'rule.named-by-playground': 'The chat of the playground names this route.',
  'rule.when-not-met-why': 'Its conditions (`when`) do not hold. {conditions}',

  'problem.changed-meanwhile':
    'It was changed meanwhile: If-Match does not have its present ETag, and nothing was stored. Read it again, and repeat the change with the new ETag if it is still wanted.',
  'problem.internal': 'wa2ai failed to handle this request. Its log has the cause.',
  'problem.playground-id-taken':
    'A WhatsApp account has the id playground, or the playground is being deleted. Delete that account, or try again later.',
  'problem.name-user': 'Name the user whose sessions end.',
  'problem.only-user-password': 'Only a user has a password: sign in as one.',
  'problem.foreign-origin': 'Pages of other sites may not call wa2ai.',
  'problem.csrf': 'Send the header {header}: 1 with each change, or use a key instead of a session.',
  'problem.no-chain': 'The NPC settings have no chain, or this node has no key.',
  'problem.account-being-deleted':
    'The WhatsApp account with this id is still being deleted. Try again later.',
  'problem.already-linked': 'The account is linked. Log it out before pairing again.',
  'problem.no-agent-file': 'The agent has no such file.',
  'problem.bad-form': 'The body is not a valid multipart/form-data form.',
  'problem.body-too-large': 'The body is too large.',
  'problem.body-not-json-type': 'The body must be JSON: send Content-Type: application/json.',
  'problem.body-not-json': 'The body must be valid JSON.',
  'problem.body-over': 'The body must not be larger than {megabytes} MB.',
  'problem.streams-open': 'The caller has {streams} streams of live events on this node. Close some of them.',
  'problem.charset': 'The charset of the body must be utf-8.',
  'problem.encoding': 'The content encoding must be gzip, deflate, br or none.',
  'problem.wrong-password': 'The current password is wrong.',
  'problem.not-dead': 'The event is delivered, or waits for its next attempt.',
  'problem.quote-unknown': 'The field "quote" is not the id of a message received.',
  'problem.field-unknown': 'The field "{field}" is not the id of a {what}.',
  'problem.rate-limited': 'The key has used its requests of this {window}. Try again in {wait}.',
  'problem.key-lacks-scope': 'The key lacks the scope {scope}.',
  'problem.role-lacks-scope': 'Your role lacks the scope {scope}.',
  'problem.requests-open': 'The caller has {open} requests open on this node. End some of them.',
  'problem.chat-not-allowed': 'The key may not use this chat.',
  'problem.account-not-allowed': 'The key may not use this account.',
  'problem.route-not-allowed': 'The key may not use this route.',
  'problem.name-chat': 'The key may use some chats only: name one as channelId.',
  'problem.chats-only': 'The key may use some chats only, which excludes this call.',
  'problem.routes-only': 'The key may use some routes only, which excludes this call.',
  'problem.name-route': 'The key may use some routes only: name one of them.',
  'problem.accounts-only': 'The key may use some accounts only, which excludes this call.',
  'problem.name-account': 'The key may use some accounts only: name one as accountId.',
  'problem.login-failed': 'The key, or the name and password, are wrong.',
  'problem.sign-in': 'Sign in, or send a key as X-API-Key or as Authorization: Bearer.',
  'problem.key-unknown': 'The key is not known: it is wrong, or it was revoked.',
  'problem.key-expired': 'The key has expired. Ask an admin for a new one.',
  'problem.no-login':
    'Without a login, wa2ai answers only programs and browsers on the same machine, and this request came through a proxy or from wa2ai itself. Set WA2AI_API_KEY, or add an owner: open /first-run in a browser on that machine.',
  'problem.two-cookies':
    'The browser sent two session cookies of wa2ai, and one of them may be from another site of this host. Delete the cookies of this site and sign in again.',
  'problem.overloaded': 'Too many requests are open. Try again in a few seconds.',
  'problem.stranger-body': 'Without a key or a session the body may have at most {bytes} bytes.',
  'problem.link-expired': 'The link has expired.',
  'problem.no-message-file': 'The message has no file, or it is not stored any more.',
  'problem.reply-token-used': 'The message of this reply token was answered. Nothing was sent.',
  'problem.playground-chat-exists': 'The playground has a chat with this number.',
  'problem.no-playground-chat': 'The playground has no chat with this id.',
  'problem.no-playground-file': 'The playground has no such file.',
  'problem.unreadable': 'The request could not be read.',
  'problem.routes-changed': 'The route table changed meanwhile. Read it again and repeat the call.',
  'problem.no-delivery': 'The webhook has no delivery with this id.',
  'problem.too-many-webhooks': 'There are {max} webhooks, the most that are allowed. Delete one.',
  'problem.account-exists': 'There is a WhatsApp account with this id.',
  'problem.user-exists': 'There is a user with this name. Choose another name.',
  'problem.no-account': 'There is no WhatsApp account with this id.',
  'problem.no-address': 'There is no such address.',
  'problem.no-chat': 'There is no chat with this id or address.',
  'problem.no-dead-letter': 'There is no dead letter with this id.',
  'problem.no-draft': 'There is no draft with this id, or it was decided before.',
  'problem.no-hosted-agent': 'There is no hosted agent with this id.',
  'problem.no-key': 'There is no key with this id.',
  'problem.no-received-message': 'There is no message received with this id.',
  'problem.no-message': 'There is no message with this id.',
  'problem.no-route-or-channel': 'There is no route with this id or channelId.',
  'problem.no-route': 'There is no route with this id.',
  'problem.no-scenario': 'There is no scenario with this id.',
  'problem.no-session': 'There is no session with this id.',
  'problem.no-link': 'There is no such link.',
  'problem.no-reply-token': 'There is no such reply token.',
  'problem.no-version': 'There is no such version of the route table, or not any more.',
  'problem.no-task': 'There is no task with this id.',
  'problem.no-user': 'There is no user with this name.',
  'problem.no-webhook': 'There is no webhook with this id.',
  'problem.no-path': 'There is nothing at this path.',
  'problem.idempotency-conflict':
    'This Idempotency-Key was used for another chat or message. Nothing was sent.',
  'problem.idempotency-key-used':
    'This Idempotency-Key was used for another call, or with other values. Nothing was created.',
  'problem.already-replayed':
    'This dead letter was replayed before, and its message or reply has not failed again.',
  'problem.id-of-playground': 'This id belongs to the playground. Choose another one.',
  'problem.last-owner': 'This is the last owner who can sign in. Make another user an owner first.',
  'problem.method': 'This path accepts {methods} only.',
  'problem.reply-token-expired': 'This reply token has expired. Nothing was sent.',
  'problem.login-delayed': 'Too many attempts to sign in. Try again in {wait}.',
  'problem.session-origin': 'With a session, only pages of wa2ai may change something.',
  'problem.foreign-host':
    'Without an admin key wa2ai accepts only requests to localhost or 127.0.0.1. Set WA2AI_API_KEY to use other names.',
  'problem.several-routes': '{count} routes have the channelId {channelId}; use the id of one.',
  'problem.log-streams': 'This node has {streams} streams of its log. Close some of them.',
  'problem.no-page': 'The documentation has no such page.',
  'problem.no-qr': 'There is no QR code to show; the account is {state}.',
  'problem.task-ended': 'The task does not run any more.',
  'problem.task-not-canceled': 'The agent does not cancel this task. It continues.',
  'problem.the-body': 'The body',
  'problem.the-query': 'The query',
  'problem.the-headers': 'The headers',

  'chat.paused-until': 'The chat is paused until {until}.',
  'chat.paused': 'The chat is paused until it is resumed.',
  'chat.was-paused': 'The chat was paused when the message had its turn.',

  'route.secret-dropped':
    'The stored secret was removed because the address of the agent changed. Send its value again.',
  'route.takes': 'Route {route} takes the message to {agent}.',
  'route.damaged':
    'Route {route} takes the message, but its stored config cannot be used: {damage}. Write its config again.',
  'route.own-agent': 'the agent that wa2ai runs for it',
  'route.cannot-be-used':
    'The stored config of route {route} cannot be used: {why}. Write the config again, then replay.',
  'route.settings-unusable': 'its settings cannot be used',

  'no-route.no-rule':
    'No rule is for this chat, account and environment, and there is no wildcard rule; add one.',
  'no-route.disabled': 'Every rule for this chat is disabled.',
  'no-route.when-not-met': 'Rules for this chat exist, and the conditions (`when`) of none hold.',
  'no-route.no-match': 'Rules for this chat exist, and none of their patterns matches the text.',
  'no-route.regex-timeout': 'No rule matched, and the pattern of at least one took too long on this text.',
  'no-route.regex-invalid': 'The pattern of every rule for this chat is broken.',

  'when.hours': 'It is {time} in {zone}; the hours are {hours}.',
  'when.days': 'It is {day} in {zone}; the days are {days}.',
  'when.days-of-hours': 'The hours began on {day} in {zone}; the days are {days}.',
  'when.kinds': 'The kind of the message is {kind}; the kinds are {kinds}.',
  'when.group': 'The chat is a group.',
  'when.no-group': 'The chat is no group.',
  'when.mentioned': 'The message mentions the account.',
  'when.not-mentioned': 'The message does not mention the account.',
  'when.quotes-us': 'The message replies to one of the account.',
  'when.does-not-quote-us': 'The message does not reply to one of the account.',
  'when.first-contact': 'No message of the chat was answered before.',
  'when.no-first-contact': 'A message of the chat was answered before.',
  'when.language-unknown': 'The language of the text is not known; the languages are {languages}.',
  'when.language': 'The text is in {language}; the languages are {languages}.',
  'when.tag': 'The chat has the tag {tag}.',
  'when.no-tag': 'The chat has none of the tags {tags}.',
  'when.percent-unknown':
    'Which chats are in the {percent} percent is known once they are stored; this one is not.',
  'when.percent': 'The chat is in the {percent} percent of chats of this route.',
  'when.not-percent': 'The chat is not in the {percent} percent of chats of this route.',

  'policy.not-reached': 'Not evaluated: an earlier policy ended the turn.',
  'policy.passes': 'It has nothing against the message.',

  'access.listed': 'The list of access.list has the person or the group.',
  'access.not-listed': 'The list of access.list has neither the person nor the group.',
  'access.approved': 'The owner approved the chat.',
  'access.refused': 'The owner refused the chat.',
  'access.waits': 'The message waits until the owner approves the chat.',

  'draft.waits': 'The owner approves answers of this chat before they are sent.',

  'loop.found': 'The last {turns} turns look like two programs answering each other.',

  'group.never': 'The route answers no messages in groups.',
  'group.pattern': 'The text matches a pattern of group.patterns.',
  'group.quotes-us': 'The message replies to a message of the account.',
  'group.not-addressed': 'The message neither mentions the account nor replies to one of its messages.',

  'stop.before-call': 'The person wrote /stop before the agent was called.',
  'stop.during-call': 'The person wrote /stop while the agent worked.',

  'pace.waits': 'It waits {ms} ms for further messages of the person.',
  'pace.merged': 'The person wrote {count} messages in a row; they are one question.',
  'pace.single': 'No further message belongs to this one.',
  'pace.part': 'The message is part of the question that ends with this later message.',

  'quota.exceeded': 'The person wrote more than {messages} messages in {minutes} minutes.',

  'command.answered': 'wa2ai answered the command /{command} itself.',

  'question.answered': 'The message answers a question that a program asked the person; its task got it.',

  'agent.answered': 'The agent answered.',
  'agent.fallback-route': 'The agent failed; the fallback route gets one attempt.',
  'agent.fallback-text': "The agent failed; the route's fallback text is the reply.",
  'agent.failure-unnamed': 'The agent reported a failure without saying which.',
  'agent.answer-cut': 'The agent answered with {characters} characters; at most {max} are sent.',
  'agent.unknown-protocol':
    'An HTTP server answers there, and its protocol is unknown. Check the path, or add a route with the kind of the agent.',
  'agent.unreachable': 'No agent answers there. Start it, and check its address.',
  'agent.answered-status': 'The {agent} answered status {status}{details}',
  'agent.cannot-be-reached': 'The {agent} cannot be reached: {why}.',
  'agent.failed': 'The {agent} failed: {why}.',
  'agent.not-called': 'The {agent} was not called: {why}.',
  'agent.answered-too-much': 'The {agent} answered too much: {why}.',
  'agent.connection-ended': 'The {agent} ended the connection before its answer: {why}.',
  'agent.silent': 'The {agent} did not answer within {ms} ms.',
  'agent.out-of-time':
    '{error} The agent asked for more time (Retry-After) after {seconds} s of waiting, the limit of tryForMs.',
  'agent.client-fault': 'The agent client failed unexpectedly in attempt {attempt}: {why}',
  'agent.circuit-open':
    'The agent was not called: its endpoint failed several times in a row, and its circuit is open for a while.',
  'agent.uncertain':
    "An earlier attempt may have reached the agent, and the agent's session cannot be read. The route's config.failure.uncertain is dead-letter, so the agent was not called again. Check the agent, then replay the message.",
  'agent.fallback-failed': '{error} The fallback route failed too: {second}',
  'agent.answered-later': '{error} The agent answered later.',
  'agent.file-too-large': 'The agent answered with a file of {bytes} bytes; at most {max} can be sent.',
  'agent.no-kind':
    'Route {route} has no agent kind that this version of wa2ai knows. Its config needs one of: {names}.',
  'agent.header-not-valid': 'The route\'s header "{name}" is not a valid HTTP header.',

  'fallback.missing': 'The fallback route no longer exists.',
  'fallback.disabled': 'The fallback route is disabled.',
  'fallback.same-route': 'The fallback route is this route itself.',
  'fallback.other-account': 'The fallback route belongs to another WhatsApp account.',
  'fallback.other-environment': 'The fallback route is of another environment.',

  'answer.formatted': 'Markdown of the answer was converted for WhatsApp.',
  'answer.split': 'The answer has {characters} characters and was sent in {messages} messages.',
  'answer.withheld': "Nothing of the answer's text was sent; removed: {kinds}.",
  'answer.filtered': 'Removed from the answer: {kinds}.',
  'answer.unknown-special':
    'A file of the type {type} is neither a location nor contacts nor a poll, and was not sent.',
  'answer.pictures': "{pictures} of the answer's Markdown became files.",
  'answer.files': '{files} that the answer names by URL became files.',
  'answer.of-agent': 'The {agent} answered {what}.',
  'answer.bad-json': 'with JSON that cannot be parsed',
  'answer.started':
    '"{text}" before its work ended. Let it respond when the last node ends, or answer 202 and reply later by the token',
  'answer.web-page': 'with a web page. Check its address, and what it responds with',
  'answer.xml': 'with XML, which has no answer that wa2ai reads',
  'answer.php-error': 'with an error of PHP. Its log says more',
  'answer.list-without-text': 'with a list that has no text',
  'answer.error': 'with an error. Its log says more',
  'answer.no-field': 'with JSON that has none of {names}; its fields are: {fields}',
  'answer.no-field-set':
    'with JSON that has none of {names}. Set {setting} to the path of the answer; the fields are: {fields}',
  'answer.not-text': 'with JSON whose "{name}" is not a text; its fields are: {fields}',
  'answer.not-text-set':
    'with JSON whose "{name}" is not a text. Set {setting} to the path of the answer; the fields are: {fields}',
  'answer.missing': 'The {agent}\'s answer has no {where}: "{name}" is missing.',
  'answer.path-not-text': "{where} of the {agent}'s answer is not a text.",
  'answer.stream-error': 'with a stream that ended with an error. Its log says more',
  'answer.stream-without-text': 'with a stream in which wa2ai finds no text',

  'voice.spoken': 'The answer was spoken.',
  'voice.too-long': 'The answer has {characters} characters; up to {max} are spoken.',

  'stream.shown': 'The answer was shown while the agent wrote it, in {messages} message(s) until its end.',

  'transcript.empty': 'The transcript of the voice message is empty.',
  'transcript.made': 'The voice message was turned into text.',

  'account.replaced': 'Another client took over this link (440).',
  'account.banned': 'WhatsApp banned this account temporarily (402).',
  'account.logged-out': 'WhatsApp ended the link ({code}).',
  'account.rate-limited': 'WhatsApp limits the rate of messages (429).',
  'account.limited': 'WhatsApp limits this account ({code}).',
  'account.new-contacts-limited': 'WhatsApp limits writing to new contacts ({code}).',
  'account.new-chats-used': 'WhatsApp limits the number of new chats: {used} of {total} are used.',
  'account.new-contacts': 'WhatsApp limits writing to new contacts.',
  'account.intercepted':
    'The server that answered has no certificate of WhatsApp. Check whether a proxy or firewall intercepts the connection.',
  'account.database-silent': 'The database does not answer, so no message is received.',
  'account.journal-unreadable':
    'The journal has messages of unknown chats that cannot be read: {chats}. They stay in the journal; ask the senders to write again.',
  'account.messages-refused':
    'Messages stay in the journal because the inbox rejects them: {messages}. {why}',
  'account.keys-unreadable':
    'Stored WhatsApp keys cannot be read and are treated as absent ({keys}); wa2ai asks phones to send the affected messages again.',
  'account.not-run': 'No node runs WhatsApp account "{account}" at this moment; try again.',
  'account.node-silent':
    'Node "{node}" did not answer for WhatsApp account "{account}" at this moment; try again.',
  'account.credentials-damaged':
    'The stored credentials of this account cannot be read. Restore the database from a backup and restart the account, or link it again.',
  'account.baileys-unsupported':
    'The installed version of @whiskeysockets/baileys is not supported ({difference}). Install the versions of package-lock.json with "npm ci" and restart.',
  'account.linked-already': 'WhatsApp account "{account}" is linked already; log it out first.',

  'passkey.unknown-form': 'WhatsApp asks for a passkey in a form that wa2ai does not know.',
  'passkey.refused': 'WhatsApp refused the passkey, or did not answer.',
  'passkey.codes-differ': 'The codes on the page and on the phone differ, so nothing was linked.',
  'passkey.connection-ended': 'The connection ended.',
  'passkey.bad-key': 'The phone sent a key that cannot be used.',
  'passkey.unknown-continuation': 'The phone continued in a form that wa2ai does not know.',
  'passkey.not-used': 'The passkey was not used within 5 minutes.',
  'passkey.not-continued': 'The phone did not continue within 2 minutes.',
  'passkey.not-compared': 'The codes were not compared within 2 minutes.',
  'passkey.not-linked': 'WhatsApp did not link the account within 2 minutes.',
  'passkey.not-asked':
    'WhatsApp does not wait for this step of linking "{account}". Look at its state, or start pairing again.',
  'passkey.wrong-answer': 'This is not the answer of the script. Copy the whole answer and paste it again.',
  'passkey.wrong-origin': 'The script ran on {origin}. Run it on {expected}.',
  'passkey.earlier-request': 'This answer belongs to an earlier request. Copy the script again and run it.',

  'proxy.refuses-login': 'The proxy of this account refuses its user name or password.',
  'proxy.asks-login': 'The proxy of this account asks for a user name and password.',
  'proxy.cannot-connect': 'The proxy of this account does not connect to WhatsApp ({why}).',
  'proxy.timeout': 'The proxy of this account did not answer within {seconds} s.',
  'proxy.no-answer': 'The proxy of this account does not answer ({why}).',
  'proxy.closed': 'The proxy of this account closed the connection, or is not a proxy of this kind.',

  'client.refused-since': 'WhatsApp refuses the client version {version} since {since}.',
  'client.built-in': 'It is part of Baileys.',
  'client.found': 'It was found at WhatsApp.',
  'client.set': 'WA2AI_WHATSAPP_VERSION names it.',
  'client.no-newer': 'No newer version was found at {at}.',
  'client.current': 'The current version at {at} is {version}.',
  'client.old':
    'The client version {version} is {days} days old, and WhatsApp refused earlier ones after {refusedDays} days: update wa2ai, or set WA2AI_WHATSAPP_VERSION=auto and allow HTTPS to web.whatsapp.com.',

  'fetch.too-large': 'the answer is larger than {bytes} bytes',
  'fetch.aborted': 'no answer in time',
  'fetch.bad-port': 'the fetch standard forbids port {port}; let the agent listen on another port',
  'fetch.no-tls': 'it does not speak TLS on that port; its address may have to begin with http://',
  'fetch.self-signed': 'its certificate is self-signed',
  'fetch.untrusted-authority': 'its certificate is from an authority that is not trusted here',
  'fetch.unknown-authority': 'its certificate is from an authority that is not known here',
  'fetch.certificate-expired': 'its certificate has expired',
  'fetch.certificate-not-yet-valid': 'its certificate is not valid yet',
  'fetch.other-host': 'its certificate is for another host name',
  'fetch.stream-cut': 'the stream ended before the answer',
  'fetch.stream-without-end': 'the stream ended before its last event',
  'fetch.unknown': 'unknown',
  'fetch.redirect': ' (redirects are not followed; it points to {location})',
  'fetch.details': '{text}{hint}',

  'egress.metadata':
    '{address} is a cloud metadata or link-local address, which WA2AI_EGRESS={policy} refuses',
  'egress.not-public': '{address} is not a public address, and WA2AI_EGRESS=public refuses all others',
  'egress.own': '{address} port {port}, where wa2ai itself listens: wa2ai does not call its own API',
  'egress.leads-to': '{host} leads to {why}',
  'egress.resolves-to': '{host} resolves to {why}',

  'agent-name.npc': 'NPC agent',
  'agent-name.a2a': 'A2A agent',
  'agent-name.abi': 'ABI agent',
  'agent-name.webhook': 'webhook',
  'agent-name.hosted': 'hosted agent',
  'agent-name.shell': 'shell runtime',
  'agent-name.model-server': 'model server at {server}',
  'agent-name.adk': 'ADK server',

  'adk.failed': 'Failed to send message to ADK agent: {why}',
  'adk.timeout': 'Request to agent timed out after {ms}ms',
  'adk.status': 'ADK agent endpoint returned {status}: {details}',
  'adk.apps': ' (apps of this server: {apps})',
  'adk.reported': 'the agent reported {code}{details}',
  'adk.login-not-encoded':
    "the user name or password in the agent's base URL is not percent-encoded correctly",
  'adk.not-url': "the agent's base URL is not an http:// or https:// address",
  'adk.header-not-valid': 'the route\'s header "{name}" is not a valid HTTP header',
  'adk.not-array': 'the answer is not an array of events but {kind}',
  'adk.empty': 'the answer is empty',
  'adk.not-json': 'the answer is not JSON',
  'adk.not-adk': '{place} is not what ADK sends: {why}',

  'webhook-agent.silent':
    'The webhook did not answer within {ms} ms. Let it answer 202 immediately and reply later by the token, or raise config.webhook.timeoutMs.',
  'webhook-agent.check-secret': '{error} Check config.webhook.headers and config.webhook.secret.',
  'webhook-agent.status': 'The webhook answered status {status}{details}.',

  'openai.silent': '{error} Raise config.openai.timeoutMs for a slow model.',
  'openai.answered-error': 'The model server at {server} answered with an error{details}.',
  'openai.answered-status': 'The model server at {server} answered status {status}{details}.',
  'openai.key-refused':
    'The model server at {server} refused the API key (401){details}. Set config.openai.apiKey.',
  'openai.access-denied':
    'The model server at {server} denied access (403){details}. Check config.openai.apiKey and what it may use.',
  'openai.no-credit': '{error} The account of config.openai.apiKey has no credit left.',
  'openai.no-model':
    'The model server at {server} does not have the model "{model}" ({status}){details}. Correct config.openai.model.',
  'openai.check-address':
    '{error} Check the address of the route: it must be the base URL of an OpenAI-compatible API.',
  'openai.long-context': '{error} Lower config.openai.historyTurns, or use a model with a longer context.',
  'openai.bad-answer': 'The answer of the model server at {server} {problem}.',
  'openai.unusable-field': 'has no usable "{path}"',
  'openai.not-object': 'is not the JSON object of this API',
  'openai.empty': 'is empty',
  'openai.web-page': 'is a web page; check the address of the server',
  'openai.stream': 'is a stream, though none was asked for',
  'openai.not-json': 'is not JSON',
  'openai.address-not-url': "The model server's address is not a URL.",
  'openai.content-filter': "The server's content filter removed the model's answer.",
  'openai.only-reasoning':
    'The model wrote only reasoning and no answer. Let it reason less, or use a server that separates reasoning from the answer.',
  'openai.nothing':
    'The model wrote nothing: no text, no tool call and no refusal. Look at the log of the model server, and at the instructions of the route.',
  'openai.wants-tool':
    'The model wants to use a tool ({tools}) and wrote no text. wa2ai offers no tools: use an endpoint that runs them itself.',
  'openai.out-of-tokens':
    'The model used all its tokens before it wrote an answer. Raise config.openai.maxTokens, or let it reason less.',

  'media.no-file': 'The message has a file that cannot be loaded.',
  'media.no-reference': 'The stored message has no reference to its file.',
  'media.playground-gone': 'The file was deleted with its chat of the playground.',
  'media.too-large': 'The file of the message has more than {max} bytes.',
  'media.store-unknown': 'The file is in a store for which this node has no settings.',
  'media.named-store-unknown':
    'The file is in the store "{store}", for which this node has no settings (WA2AI_MEDIA_STORE).',
  'media.folder-full': '{folder} has reached its limit.',
  'media.not-in-store': 'The file is not in the store any more.',
  'media.bad-location': 'The row of a file names no file of the store.',
  'media.not-written': 'A stored file cannot be written ({code}).',
  'media.not-read': 'A stored file cannot be read ({code}).',
  'media.changed': 'The stored file {location} was changed or is damaged.',
  'media.s3-unusable': 'The S3 server cannot be used ({why}).',
  'media.not-in-bucket': 'The file is not in the S3 bucket any more.',
  'media.s3-status':
    'The S3 server answered status {status}. Check WA2AI_MEDIA_S3_ENDPOINT, the bucket and the keys.',
  'media.unknown-way': 'The message does not say how to get its file.',
  'media.late': "The file of the message did not arrive within {ms} ms from WhatsApp's servers.",
  'media.not-downloaded': "The file of the message could not be downloaded from WhatsApp's servers.",
  'media.servers-status': "WhatsApp's servers answered {status} for the file of the message.",
  'media.wrong-hash': 'The file of the message does not have the hash that the message names.',
  'media.not-encrypted': 'The file of the message is not an encrypted file.',
  'media.wrong-mac': 'The file of the message has a wrong MAC.',
  'media.not-decrypted': 'The file of the message cannot be decrypted.',
  'media.wrong-plain-hash':
    'The file of the message does not have the hash that the message names once it is decrypted.',
  'media.unknown-message': 'The file cannot be requested from the phone: the id of its message is unknown.',
  'media.phone-silent': 'The phone was asked to upload the file of the message again and did not answer.',
  'media.phone-without-file': 'The phone no longer has the file of the message.',
  'media.phone-failed': 'The phone could not upload the file of the message again.',
  'media.not-requested': 'The file of the message could not be requested from the phone.',
  'media.not-removed': 'A stored file cannot be removed ({code}).',
  'media.not-listed': 'A stored file cannot be listed ({code}).',

  'send.not-connected': 'WhatsApp account "{account}" is not connected; nothing was sent.',
  'send.not-on-whatsapp':
    'WhatsApp has no account with this number, and nothing was sent: messages to such numbers make WhatsApp lock accounts. Check the number, with its country code. WhatsApp is asked again after 24 hours.',
  'send.no-file': 'The file of the message is not stored.',
  'send.attempts': '{error} There were {count} attempts.',
  'send.process-ended':
    'The process of wa2ai ended at least three times while it sent this reply: it did not respond any more, ran out of memory or crashed. WhatsApp may have it; a replay sends it with the same id, so that it appears once.',
  'send.never-acknowledged': 'WhatsApp accepted it {count} times and never acknowledged it.',
  'send.not-acknowledged': 'WhatsApp did not acknowledge it in time.',
  'send.limited': 'WhatsApp limits this account.',
  'send.refused': 'WhatsApp refused it with error {code}.',
  'send.refused-token': '{error} It is sent again with the privacy token of its chat.',
  'send.contact-refused':
    'WhatsApp refused the first message to this person (463). The account is not limited; other messages are sent. Let the person write first, or write to them once on the phone.',
  'send.message-without-file': 'The message has no file.',
  'send.message-without-text': 'The message has no text.',
  'send.file-not-uploaded': 'The file of the message was not uploaded.',
  'send.bad-address': 'The address of the message is neither a person nor a group.',
  'send.upload-late': 'The file was not uploaded within {ms} ms.',
  'send.upload-failed': "The file could not be uploaded to WhatsApp's servers.",
  'send.late': 'Sending did not end within 3 minutes; the message may have been sent.',
  'send.connection-ended': 'The connection ended while a message was being sent.',
  'send.refused-for-chat': 'WhatsApp refused the message for this chat ({code}).',
  'send.failed-after-begin': 'Sending failed after it began; the message may have been sent.',
  'send.look-up-refused': 'WhatsApp refused to say whether a number has an account.',
  'send.look-up-silent': 'WhatsApp did not say whether a number has an account.',
  'send.playground-not-stored': 'The playground could not store the message.',
  'send.playground-file-not-stored': 'The playground could not store the file.',
  'send.acknowledged-late': '{error} WhatsApp acknowledged it later.',
  'send.again': 'WhatsApp has not acknowledged it in {ms} ms; it is sent again with the same id.',

  'governor.quiet-hours': 'Its person did not write in the last 24 hours, and it is the quiet hours.',
  'governor.first-contacts':
    'It is a first contact, and the account may send {perHour} in an hour and {perDay} in 24 hours now.',
  'governor.asks-slowly':
    'It is a first contact, and WhatsApp is asked about at most 10 new numbers a minute.',
  'governor.number-unknown':
    'It is a first contact, and WhatsApp did not say whether the number has an account.',

  'delivery.secret-unreadable': 'The secret of the webhook cannot be decrypted: set another one.',
  'delivery.status': 'The receiver answered status {status}.',
  'delivery.redirect':
    'The receiver answered status {status}. Redirects are not followed: set the new address.',
  'delivery.silent': 'The receiver did not answer within {seconds} seconds.',
  'delivery.not-called': 'The receiver was not called: {why}.',
  'delivery.not-connected': 'Cannot connect to the receiver: {why}.',
  'delivery.connection-ended': 'The receiver ended the connection before its answer: {why}.',
  'delivery.gone': 'The receiver answered status 410: it does not want any more events.',
  'delivery.three-days': 'No event could be delivered for three days. {error}',
  'delivery.process-ended': 'wa2ai ended or hung during its attempts, of which at most {max} are made.',

  'storage.lease-lost': 'This node no longer runs WhatsApp account "{account}"; nothing was stored.',
  'storage.unavailable': 'The database does not respond. Nothing was stored; try again.',
  'storage.rejected': 'The database rejected a value. Nothing was stored.',
  'storage.damaged': 'The database cannot read a stored value.',
  'storage.full': 'The disk of the database is full. Free space on it.',
  'storage.read-only':
    'The database is read-only. Make it writable, or name the primary server in DATABASE_URL.',
  'storage.rights':
    'The database user lacks a privilege. Grant it SELECT, INSERT, UPDATE and DELETE on all tables of wa2ai.',
  'storage.schema':
    'The tables in the database are not those of this version of wa2ai. Restore them, or start the version that created them.',
  'storage.postgres-said': '{error} PostgreSQL said {details}.',
  'storage.other-key':
    'The database has values that were encrypted with the key {key}, which this node does not have. Add that key to the file of WA2AI_DATA_KEY_FILE and restart this node.',
  'storage.newer':
    'A newer wa2ai has migrated the database ("{migration}"), which this version does not know: update this node.',
  'storage.no-chain-ends': 'The ends of the audit log are missing: somebody removed the row of audit_chain.',
  'storage.no-select':
    'The database user lacks the privilege SELECT on "_prisma_migrations". GRANT SELECT ON _prisma_migrations TO that user.',

  'node.too-large': 'This is too large to be sent from one node to another.',
  'node.agent-silent': 'Node "{node}", which runs the hosted agent {agent}, did not answer. Try again.',
  'node.fault': 'The other node failed; its log has the cause.',

  'file.empty': 'The file is empty.',
  'file.ogg-damaged': 'The OGG file is damaged.',
  'file.too-large': 'The file is larger than {megabytes} MB.',
  'file.not-of-kind': 'The file {why}.',
  'file.not-of-kind-but': 'The file {why} (it is {type}).',
  'file.not-picture': 'is no JPEG or PNG picture. Send another format as a document',
  'file.not-video': 'is no MP4 or 3GP video. Send another format as a document',
  'file.not-audio': 'is no MP3, M4A, AAC, AMR or OGG (Opus) file. Send another format as a document',
  'file.not-voice': 'is no Opus sound in an OGG file',
  'file.not-sticker': 'is no WebP picture',
  'file.not-sound': 'The file is no sound in a known format, such as MP3, M4A, WAV or OGG.',
  'file.no-ffmpeg':
    'The voice note is not Opus in OGG, and ffmpeg, which converts it, {why}. Install ffmpeg on the machine of wa2ai or set WA2AI_FFMPEG, or send Opus in OGG.',
  'file.ffmpeg-missing': 'is not installed',
  'file.ffmpeg-cannot-start': 'cannot be started ({code})',
  'file.too-long-to-convert': 'The voice note took too long to convert.',
  'file.voice-too-large': 'The voice note is larger than 10 MB.',
  'file.not-converted': 'ffmpeg cannot convert the file to a voice note.',

  'web-file.not-loaded': 'The file was not loaded: {host} {why}.',
  'web-file.web-page': 'sent a web page',
  'web-file.not-a-host': 'is no host of the settings',
  'web-file.redirects-elsewhere': 'redirects to no address of the web',
  'web-file.too-many-redirects': 'is reached by more than {max} redirects',
  'web-file.refused':
    'is not at a public address, or WA2AI_EGRESS forbids the address; WA2AI_EGRESS=any allows all',
  'web-file.not-connected': 'cannot be reached',
  'web-file.no-answer': 'does not answer',
  'web-file.broken': 'ended the connection',
  'web-file.too-large': 'has a file larger than {megabytes} MB',
  'web-file.aborted': 'did not send the file within {seconds} seconds',
  'web-file.status': 'answered status {status}',

  'hosted.being-deleted': 'The hosted agent {agent} is being deleted.',
  'hosted.moves': 'The hosted agent {agent} is about to move from node "{node}".',
  'hosted.node-full': '{count} hosted agents work on this node, the limit of WA2AI_AGENTS_MAX_RUNNING.',
  'hosted.runs-elsewhere': 'The hosted agent {agent} runs on node "{node}".',
  'hosted.data-elsewhere':
    'The data of the hosted agent {agent} is on node "{node}", which does not run. Start that node, share WA2AI_DATA_DIR between the nodes, or delete the agent.',
  'hosted.wa2ai-stopped': 'wa2ai stopped before the agent answered. Send the message again.',
  'hosted.message-fault': 'The message failed by a fault inside wa2ai ({name}); its log has the cause.',
  'hosted.ended': 'The hosted agent {agent} ended.',
  'hosted.ended-with-code': 'The hosted agent {agent} ended with exit code {code}.',
  'hosted.silent': 'The hosted agent {agent} did not answer HTTP within {ms} ms on port {port}.',
  'hosted.disk-full':
    'The disk of WA2AI_DATA_DIR has less than 256 MB free: no hosted agent runs until it has more.',
  'hosted.data-unreadable':
    'The data of the hosted agent {agent} cannot be measured: {path} cannot be read. Delete it.',
  'hosted.data-too-large':
    'The data of the hosted agent {agent} is larger than {megabytes} MB (WA2AI_AGENT_DISK). Delete files of it.',
  'hosted.host-failed': 'The agent host failed: {why}',
  'hosted.crash-loop':
    'The agent was started {count} times within {minutes} minutes and ended each time. Read its log, then start it again.',
  'hosted.tasks-not-followed': 'Tasks of this hosted agent cannot be followed.',
  'hosted.not-in-program': 'This program does not run hosted agents; the service does.',
  'hosted.no-profile': 'There is no agent kind for the profile "{profile}".',
  'hosted.several-apps': 'Set hosted.options.appName: the ADK server has not exactly one app.',
  'hosted.no-history': 'The hosted agent answered without a list of its messages.',
  'hosted.image-missing':
    'The image {image} is not on this machine. Load it, or set pull to "missing" so that wa2ai pulls it.',
  'hosted.image-not-pulled': 'The image {image} could not be pulled: {why}.',
  'hosted.pull-stalled': 'nothing happened for {ms} ms',
  'hosted.image-of-agent-not-pulled': 'The image of {agent} was not pulled.',
  'hosted.name-taken': 'A container with the name {name} exists already.',
  'hosted.no-firewall':
    'The firewall of the container could not be loaded: {why}. Install nftables or iptables on the machine of the engine, or set WA2AI_AGENTS_NETWORKS=any.',
  'hosted.path-with-colon': 'The folder {path} cannot be mounted: its path has a colon.',
  'hosted.engine-elsewhere':
    'The container engine {engine} cannot be used: wa2ai starts containers on this machine only, so the address must be unix:// and a path. Set WA2AI_CONTAINER_ENGINE.',
  'hosted.no-engine':
    'There is no container engine: none of {paths} exists. Start Docker or podman, set WA2AI_CONTAINER_ENGINE, or use the runtime "process".',
  'hosted.engine-unavailable':
    'The container engine at {address} did not {what}: {why}. Check that it runs and that wa2ai may use its socket.',
  'hosted.engine-refused': 'The container engine did not {what}: {why} (status {status}).',
  'hosted.container-gone': 'The container of the hosted agent {agent} is gone.',
  'hosted.process-not-prepared': 'The process of the hosted agent {agent} is not prepared.',
  'hosted.log-ends-with': '{error} Its log ends with: {lines}',
  'hosted.log-empty': '{error} Its log is empty.',
  'hosted.file-too-large': '{path} is larger than 64 MB. Copy it from the data folder.',
  'hosted.writes-while-deleted':
    'The hosted agent {agent} writes into {path} while it is deleted. Stop the agent first.',
  'hosted.bad-id': 'The id of the hosted agent is not valid.',
  'hosted.data-not-stored':
    'The data of hosted agents cannot be stored in {path}: {why}. Check WA2AI_DATA_DIR.',
  'hosted.data-not-mounted':
    "The container engine does not see {path}. If wa2ai runs in a container, set WA2AI_AGENTS_HOST_DIR to the path that its data folder has on the engine's machine.",
  'hosted.bad-image': 'The image of the hosted agent is not the name of an image.',
  'hosted.no-image': 'The settings of the hosted agent name no image.',
  'hosted.no-command':
    'The hosted agent {agent} has the runtime "process" and no command. Set hosted.command, or use the runtime "docker".',
  'hosted.program-not-started':
    'The program of the hosted agent {agent} cannot be started: {why}. Check hosted.command.',
  'hosted.folder-out-of-reach':
    'The hosted agent {agent} runs as a user without rights, because wa2ai is root, and this user cannot enter {path}. Let others enter it (chmod o+x), move WA2AI_DATA_DIR, or run wa2ai as another user than root.',
  'hosted.port-taken':
    'Port {port} of the hosted agent {agent} is in use. Remove hosted.port so that each agent gets a free one, or use the runtime "docker".',
  'hosted.processes-off':
    'Agents do not run as processes on this node: their programs can do what wa2ai can do. Set hosted.runtime to "docker", or allow them with WA2AI_PROCESS_AGENTS=on.',
  'hosted.profile-without-history': 'Agents of the profile "{profile}" have no history that wa2ai can read.',

  'scenario.problem': 'line {line}: {field} {mistake}',
  'scenario.whole': 'the scenario',
  'scenario.reads-no-file':
    'step {step} names the file {path}; only wa2ai simulate reads files, put its bytes in data',
  'scenario.other-route':
    'The playground has a chat with {phone} that uses another route. Delete that chat, or use a name instead of the number.',
  'scenario.waits': 'No node runs the playground: the message waits.',
  'scenario.no-route': 'There is no route with the id or the name {route}.',
  'scenario.nothing-written': '{person} has written nothing in this chat.',
  'scenario.file-not-loaded': 'The file {path} was not loaded.',
  'scenario.said': 'It said {text}.',
  'scenario.silent': 'Nothing was said within {ms} ms.',
  'scenario.said-instead': 'It said instead: {text}.',
  'scenario.nothing-to-quote': 'The account has said nothing to quote.',
  'scenario.no-message': 'No message has {text}.',
  'scenario.nothing-to-react-to': 'The account has said nothing to react to.',

  'task.lost':
    'Task {task} of the agent is no longer followed: {why}. Look at the agent; a replay opens a new task.',
  'task.agent-silent': 'The agent did not answer within {seconds} seconds.',

  'audio.no-text': 'The transcription server answered without a text.',
  'audio.refused': 'The egress rule refuses the address of the {server}.',
  'audio.too-much': 'The {server} answered too much.',
  'audio.silent': 'The {server} did not answer.',
  'audio.status': 'The {server} answered status {status}.',
  'audio.check-setting': 'The {server} answered status {status}. Check {setting}.',
  'audio.transcription-server': 'transcription server',
  'audio.speech-server': 'speech server',

  'a2a.no-end': 'The A2A agent does not show the end of task {task}.',
  'a2a.no-card-in-time': 'The A2A agent did not send its card within {ms} ms.',
  'a2a.no-card': 'The A2A agent does not send its card: {why}.',
  'a2a.task-not-ended': 'Task {task} did not end within {ms} ms.',
  'a2a.no-interface':
    'The card of the A2A agent has no interface for version {version} and transport {transport}. It has: {has}.',
  'a2a.without-card':
    'The A2A agent has no agent card. Set config.a2a.cardUrl, or name version and transport of an agent without a card.',
  'a2a.task-failed': 'Task {task} of the A2A agent failed{details}.',
  'a2a.task-rejected': 'Task {task} of the A2A agent was rejected by the agent{details}.',
  'a2a.task-needs-login': 'Task {task} of the A2A agent needs a login that wa2ai cannot give{details}.',
  'a2a.file-too-large': 'The A2A agent answered with a file of {bytes} bytes; at most {max} can be sent.',
  'a2a.empty-stream': 'The A2A agent answered with an empty stream.',
  'a2a.connection-lost': 'The connection to the A2A agent was lost: {why}',
  'a2a.answered-error': 'The A2A agent answered with an error: {why}',
  'a2a.not-a2a': 'The A2A agent answered with something that is not A2A: {why}',

  'card.bad-address': 'The agent card names an address that is not an http:// or https:// URL.',

  'abi.call-too-large': 'The ABI call is larger than 10 MB.',
  'abi.no-envelope': 'The ABI agent did not answer with the JSON envelope (steps, result).',
  'abi.no-hex-result': "The ABI agent's JSON envelope contains no hex result (steps: {names}){details}.",
  'abi.bad-address': "The ABI agent's endpoint is not an http:// or https:// address.",
  'abi.manifest-late': "The ABI agent's manifest did not arrive in time.",
  'abi.manifest-not-fetched': "The ABI agent's manifest cannot be fetched: {why}.",
  'abi.manifest-status': "The ABI agent's manifest cannot be fetched: status {status}{hint}.",
  'abi.manifest-too-large': "The ABI agent's manifest is larger than 1 MB.",
  'abi.manifest-without-abi':
    'The ABI agent\'s manifest contains no ABI: an array, or an object with one under "abi".',
  'abi.manifest-not-json': "The ABI agent's manifest is not JSON.",
  'abi.empty-file': 'The ABI agent answered {kind} with 0 bytes.',
  'abi.file-too-large': 'The ABI agent answered {kind} with {bytes} bytes; at most {max} can be sent.',
  'abi.bad-type': 'The ABI agent answered {kind} with a type that {why}.',
  'abi.an-image': 'an image',
  'abi.an-audio-file': 'audio',
  'abi.a-document': 'a document',
  'abi.nothing': 'The ABI agent answered nothing; {name} answers ({types}).',
  'abi.not-decoded': "The ABI agent's answer of {bytes} bytes to {name} is not ({types}): it {why}.",
  'abi.answer-too-large': "The ABI agent's answer is too large: {why}.",
  'abi.connection-ended': 'The connection to the ABI agent ended before its answer did: {why}.',
  'abi.manifest-unusable': "The ABI agent's manifest cannot be used: {why}.",
  'abi.route-unusable': "The route's ABI cannot be used: {why}.",

  'template.unknown-variable': 'uses {placeholder}; the variables are {names}',
  'template.unknown-placeholder': 'uses {placeholder}; the placeholders are {names}',
  'template.alone': 'puts {placeholder} into other text; use it alone',
  'template.open': "has '{text}' without }}",
  'template.not-open': 'closes {tag}, which is not the section that is open',
  'template.never-closed': 'never closes {tag}',
  'template.no-output': 'uses {tag}, which is not among the outputs',
  'template.no-files': 'uses {placeholder}; tasks of the NPC Engine take no files',

  'param.must-be': 'must be {what}',
  'param.address': 'an Ethereum address: 0x and 40 hex digits',
  'param.wei': 'an amount in wei, a whole number such as 1000',
  'param.text': 'a text',
  'param.object': 'a text, or an object such as {example}',
  'param.one-of': 'one of {values}',
  'param.truth': 'true or false',
  'param.whole': 'a whole number',
  'param.number': 'a number',
  'param.list': 'a list',
  'param.names': 'a list of names and values',
  'param.whole-from': 'a whole number of at least {min}',
  'param.whole-from-to': 'a whole number from {min} to {max}',
  'param.number-from': 'a number of at least {min}',
  'param.number-from-to': 'a number from {min} to {max}',

  'abi-definition.repeats': 'repeats {signature}',
  'abi-definition.same-selector': 'has the same selector as {signature}',
  'abi-definition.entries': 'must have at most {max} entries',
  'abi-definition.types': 'must have at most {max} types in all',
  'abi-definition.not-entry': 'must be a signature or an entry of a JSON ABI',
  'abi-definition.function-types': 'has more than {max} types, with structs expanded',
  'abi-definition.long-arrays': 'has arrays of a fixed length above 10 MB',
  'abi-definition.no-selector': 'names the selector {selector}, which no function has',
  'abi-definition.no-function': 'names {name}, which is not among the functions',
  'abi-definition.several-forms': "names '{name}', of which there are several forms; write one of {forms}",
  'abi-definition.no-name': 'needs the name of a function',
  'abi-definition.inputs-of': "{name}'s inputs",
  'abi-definition.outputs-of': "{name}'s outputs",
  'abi-definition.number-of': '{what}, number {number},',
  'abi-definition.components-of': '{what} the components',
  'abi-definition.tuples': 'tuples',
  'abi-definition.not-array': '{what} must be an array',
  'abi-definition.depth': '{what} are nested deeper than {levels} levels',
  'abi-definition.not-param': '{what} must be {form}',
  'abi-definition.no-components': '{what} is a tuple and needs components',
  'abi-definition.not-struct': "'{text}' is not a struct: {form}",
  'abi-definition.struct-twice': 'struct {name} is defined twice',
  'abi-definition.struct-in-itself': 'struct {name} contains itself',
  'abi-definition.empty-struct': 'struct {name} has no fields',
  'abi-definition.empty-tuple': 'a tuple needs at least one field',
  'abi-definition.unexpected': "'{text}' has {found} where {expected} belongs",
  'abi-definition.the-end': 'the end',
  'abi-definition.a-name': 'a name for the function',
  'abi-definition.returns-or-end': "'returns' or the end",
  'abi-definition.comma-or-end': "',' or ')'",
  'abi-definition.a-type': 'a type',
  'abi-definition.not-type': "'{text}' is not an ABI type",
  'abi-definition.array-depth': "'{text}' is nested deeper than {max} arrays",
  'abi-definition.array-length': "an array's length must be from 1 to {max}, not {length}",
  'abi-definition.which-function': 'is missing: a template is for one function, and there are {count}',
  'abi-definition.args': 'does not fit {signature}: {why}',

  'abi-file.one-kind': 'must name exactly one of image, audio, document',
  'abi-file.not-output': 'has {file} that is not one output, such as {example}',
  'abi-file.not-bytes': 'makes {file} of an output of type {type}; only bytes can be one',
  'abi-file.caption': 'has a caption, which WhatsApp does not show with audio',
  'abi-file.file-name': 'has a fileName, which WhatsApp does not show with {file}',
  'abi-file.bad-type': 'has a mimeType that {why}',
  'abi-file.not-mime-type': "is not a MIME type: '{text}'",
  'abi-file.other-type': "is not a type of {kind}: '{text}'",

  'abi.mistake': '{place} {mistake}',
  'abi.mistakes': '{mistake}; {more}',
  'abi.it': 'it',

  'chain.other-chain':
    'The RPC server is of chain {chain}, and chain.chainId of the NPC settings is {set}. Correct one of them.',
  'chain.late': 'The RPC server of the chain did not answer {method} within {ms} ms.',
  'chain.silent': 'The RPC server of the chain did not answer {method} ({why}).',
  'chain.not-json-rpc':
    'The RPC server of the chain did not answer {method}: status {status}, and no JSON-RPC.',
  'chain.no-contract': 'An address of the chain settings has no such contract. Check contracts and tokens.',
  'chain.unreadable': 'The RPC server of the chain answered what wa2ai cannot read.',
  'chain.refused': 'The RPC server of the chain refused a call: {why}.',

  'npc.no-card': 'The NPC agent does not send its card: {why}.',
  'npc.no-end': 'The NPC agent does not show the end of task {task}.',
  'npc.no-task-id': 'The NPC agent opened a task without an id.',
  'npc.uncertain':
    'An earlier attempt may have opened a task of type {type}, and task.list of the agent does not show which one it is. No task was opened. Check the agent, then replay the message.',
  'npc.task-failed': 'Task {task} of the NPC agent failed{details}.',
  'npc.no-tasks': 'The NPC agent answered task.list without tasks.',
  'npc.no-task': 'The NPC agent answered task.status without a task.',
  'npc.says-nothing': 'The agent says nothing.',
  'npc.not-json-rpc': 'The NPC agent answered {method} with something that is no JSON-RPC 2.0.',
  'npc.silent': 'The NPC agent did not answer {method} within {ms} ms.',
  'npc.no-events': 'The NPC agent sent no events.',
  'npc.error': 'The NPC agent answered error {code}{details}.',
  'npc.error-without-code': 'The NPC agent answered error without a code{details}.',
  'npc.check-key': '{error} Check config.npc.apiKey of the route, and whether the card names another host.',

  'shell.restarted': 'The shell was started again while the command ran; its result is not known.',
  'shell.no-containers': 'This program does not run containers; the service does.',
  'shell.zero-byte': 'The path of the file contains a zero byte.',
  'shell.busy': 'The session is busy.',
  'shell.file-not-read': 'The file cannot be read.',
  'shell.file-too-large': 'The file is too large.',
  'shell.unknown-request': 'The shell runtime does not know the request.',
  'shell.not-json': 'The shell runtime answered {path} with something else than JSON.',
  'shell.reported': 'The shell runtime reported {name}.',
  'shell.not-valid': 'The answer of the shell runtime has no valid "{path}".',
  'shell.uncertain':
    'wa2ai stopped while the command was sent, and the shell runtime does not know it: it may have run. Look at the shell, then send the command again.',

  'probe.unreachable': 'The {agent} cannot be reached: {why}. Start it, or correct the address.',
  'probe.access-denied': 'The {agent} answered status {status}. Check the headers of the route.',
  'probe.agent-at': '{agent} at {address}',
  'probe.no-agent': 'The ADK server at {server} has no agent "{name}". Its agents: {names}.',
  'probe.no-model': 'The model server at {server} does not list the model "{name}". Its models: {names}.',
  'probe.no-capability': 'The card of the NPC agent has no capability "{name}". It has: {names}.',
  'probe.not-fitting': 'The settings do not fit the manifest: {why}.',
  'probe.kind-without-card': 'Agents of this kind have no card.',
  'probe.no-card': 'The agent sends no card.',

  'pause.owner-wrote': 'The owner wrote in the chat.',
  'pause.loop': 'Two programs answered each other.',

  'field.network-none-of-process': 'cannot be "none" for the runtime "process", which isolates nothing',
  'field.not-by-edit': 'cannot be changed by an edit',
  'field.of-text': 'belongs to a text',
  'field.of-text-or-file': 'belongs to a text or a file',
  'field.not-with-data': 'cannot be combined with data',
  'field.not-shown-with': 'cannot be shown with {what}',
  'field.unrestricted-scope':
    'cannot restrict the scope {scope}: its calls concern every chat, route and account',
  'field.proxy-of-playground': 'cannot be set for the playground, which has no connection',
  'field.proxy-percent': 'has a % in user name or password that is not written as %25',
  'field.proxy-colon': 'has a colon in the user name, which HTTP proxies cannot read',
  'field.proxy-control-character': 'has a control character in user name or password',
  'field.proxy-password-alone': 'has a password without a user name',
  'field.proxy-login-bytes': 'has a user name or password of more than 255 bytes',
  'field.proxy-not-url': 'is not a URL, such as http://user:password@proxy.example:3128',
  'field.proxy-scheme': 'must begin with http://, https:// or socks5://',
  'field.proxy-end': 'must end after the host and port',
  'field.proxy-port': 'must have a port above 0',
  'field.proxy-login-missing': 'must have its user name and password; none are stored for this address',
  'field.proxy-host': 'must name a host',
  'field.bad-name': 'has a name that is not allowed',
  'field.quote-or-mention': 'has no quote and no mention',
  'field.route-of-one-chat': 'is for one chat: it is always checked before a route for *',
  'field.twice-in-file': 'is in the file twice',
  'field.masked': 'is masked (***) and no value is stored; send its value',
  'field.missing': 'is missing',
  'field.missing-of-group': 'is missing; a group needs it',
  'field.missing-id-or-name': 'is missing; a route of a file needs an id or a name',
  'field.missing-chat': 'is missing; name the chat, or the person as from',
  'field.address-of-chat': 'must be the address of a chat: an international number, a JID or a group id',
  'field.address-of-person': 'must be the address of a person: an international number or a JID',
  'field.missing-phone': 'is missing; pairing by code needs it',
  'field.missing-data-or-url': 'is missing; send data or url',
  'field.missing-text-or-media': 'is missing; send text, media, or both',
  'field.needed-with-arena': 'is needed with contracts.arena',
  'field.needed-with-quest': 'is needed with contracts.quest',
  'field.no-placeholder': 'has {placeholder}, which this text of wa2ai does not have',
  'field.no-route': 'is no route',
  'field.not-yaml': 'is not YAML: {why}',
  'field.not-account': 'is not a WhatsApp account of this service',
  'field.not-channel-id':
    'is not a channelId: write a number with its country code, <digits>@lid or <id>@g.us',
  'field.unknown': 'is not a known field',
  'field.unknown-guess': 'is not a known field, perhaps you mean {guess}',
  'field.unknown-word': 'is not a known word',
  'field.not-person-of-chat': 'is not a person of the chat',
  'field.not-allowed': 'is not allowed: {why}',
  'field.not-message-of-chat': 'is not the id of a message of the chat',
  'field.not-message-of-person': 'is not the id of a message of this person',
  'field.not-route-id': 'is not the id of a route',
  'field.refused': 'is refused: {why}',
  'field.required-of-docker': 'is required for the runtime "docker"',
  'field.required-of-process': 'is required for the runtime "process"',
  'field.several-routes': 'is that of {count} routes; give the id',
  'field.twice': 'is there twice',
  'field.own-password': 'is your own: use PUT /api/session/password, which needs the current one',
  'field.waits-long': 'may wait longer than {seconds} seconds; run it with wa2ai simulate',
  'field.ascii-id': 'must be 1 to 200 printable ASCII characters without spaces',
  'field.entity-tags': 'must be * or entity tags in quotes, as ETag has them, separated by commas',
  'field.next': 'must be `next` of the page before',
  'field.json-object': 'must be a JSON object',
  'field.url-example': 'must be a URL such as https://npc.example.com',
  'field.http-url': 'must be a URL that begins with http:// or https://',
  'field.capability': 'must be a capability such as social or custom:crafting',
  'field.host': 'must be a host in small letters, such as cdn.example.com',
  'field.language': 'must be a language of two letters such as es, en or pt',
  'field.custom-name': 'must be a name such as custom:crafting',
  'field.path': 'must be a path such as data.answer',
  'field.path-only': 'must be a path without ? and #',
  'field.chat-address': 'must be a phone number, a LID or a group id',
  'field.chat': 'must be one chat: a phone number with its country code, a JID or a group id',
  'field.chat-or-user-name':
    'must be one chat: @<user name>, a phone number with its country code, a JID or a group id',
  'field.chat-or-all': 'must be *, @<user name>, a phone number with its country code, a JID or a group id',
  'field.empty-pattern': 'must not be empty; leave it out to match every text',
  'field.invalid-pattern': 'is not a valid pattern: {why}',
  'field.empty': 'must not be empty',
  'field.no-other-assertion': 'has no other assertion',
  'field.file-or-data': 'must have either file or data',
  'field.path-or-file': 'must be the path of a file, or an object with file or data',
  'field.true-or-part': 'must be true or a part of a text',
  'field.one-of-actions': 'must have one of {actions}',
  'field.of-say-or-send': 'belongs to say or send',
  'field.route-or-config': 'must be the id or the name of a route, or an object with config',
  'field.some-step': 'must have a step',
  'field.who-writes': 'is missing; who writes?',
  'field.not-with-fallback-route': 'cannot be combined with fallbackRouteId; choose one',
  'field.of-group': 'belongs to a group',
  'field.of-person': 'belongs to a person',
  'field.no-form': 'has none of the allowed forms',
  'field.format': 'must have the format {format}',
  'field.regex': 'must be a regular expression',
  'field.hosted-route': 'must be a route with config.hosted',
  'field.output-template': 'must be a template, or an object with one of image, audio, document',
  'field.time-2026': 'must be a time in ISO 8601, such as 2026-01-31T12:00:00Z',
  'field.time-2027': 'must be a time in ISO 8601, such as 2027-01-31T12:00:00Z',
  'field.time-of-day': 'must be a time such as 04:00',
  'field.time-of-evening': 'must be a time such as 21:00',
  'field.time-zone': 'must be a time zone such as Europe/Madrid',
  'field.type': 'must be a {type}',
  'field.ethereum': 'must be an Ethereum address',
  'field.ethereum-digits': 'must be an Ethereum address: 0x and 40 hexadecimal digits',
  'field.form-file': 'must be a file of a form',
  'field.agent-file-path': 'must be the path of a file in the folder of the agent, without links',
  'field.absolute-path': 'must be an absolute path',
  'field.amount': 'must be an amount in digits, such as 1000000000000000000',
  'field.amount-wei': 'must be an amount in wei, a whole number in digits',
  'field.abi-functions':
    'must be an array of signatures or JSON ABI entries, or the http:// or https:// URL of a manifest',
  'field.array-or-object': 'must be an array or an object',
  'field.http-or-https-url': 'must be an http:// or https:// URL',
  'field.object-or-array': 'must be an object or an array',
  'field.document': 'must be an object with a url and perhaps a fileName, or a file of a form',
  'field.url-or-file': 'must be an object with a url, or a file of a form',
  'field.at-least': 'must be at least {min}',
  'field.at-most': 'must be at most {max}',
  'field.base64': 'must be base64',
  'field.or-route-id': 'must be given, or routeId; one of them',
  'field.future': 'must be in the future',
  'field.emoji': 'must be one emoji such as 👀',
  'field.person': 'must be one person: a phone number with its country code or a JID',
  'field.word': 'must be one word of at most 32 letters, digits, - and _',
  'field.owner': 'must be owner: there is no user yet',
  'field.route-id': 'must be the id of a route',
  'field.row-id': 'must be the id of a row',
  'field.image': 'must be the name of an image such as registry.example/agent:1',
  'field.shell-image': 'must be the name of an image such as wa2ai-shell:1',
  'field.version-number': 'must be the number of a version',
  'field.whole-url': 'must be the whole URL, because the address has changed',
  'field.hours': 'must be two different times such as 09:00-18:00; 22:00-06:00 ends on the next day',
  'field.id-200': "must be up to 200 letters, digits, '.', ':', '_' and '-'",
  'field.id-63': "must be up to 63 lower-case letters, digits, '.', '_' and '-'",
  'field.one-of': 'must be {values}',
  'field.path-without-spaces': 'must begin with / and contain no spaces',
  'field.user-name': 'must begin with a letter or digit and have at most 64 of: letters, digits, . _ @ -',
  'field.change-something': 'must change something',
  'field.some-content': 'must contain a text, a file or both, or else a reaction, or else a deletion',
  'field.some-channel-id': 'must contain at least one channelId',
  'field.some-function': 'must contain at least one function',
  'field.some-megabytes': 'must contain at most 10 MB',
  'field.exactly-one-kind': 'must contain exactly one of {kinds}',
  'field.ascii': 'must contain printable ASCII characters only',
  'field.ascii-without-spaces': 'must contain printable ASCII characters without spaces only',
  'field.bytes': 'must contain the bytes of a file',
  'field.program': 'must contain the program',
  'field.different': 'must differ from each other',
  'field.arena-or-quest': 'must have arena, quest or both',
  'field.secret-16': 'must have at least 16 characters',
  'field.secret-8': 'must have at least 8 characters',
  'field.min-chars': 'must have at least {min} characters',
  'field.different-chars': 'must have at least {min} different characters',
  'field.max-chars': 'must have at most {max} characters',
  'field.caption-chars': 'must have at most {max} characters as a caption',
  'field.different-names': 'must have different names',
  'field.key-or-password': 'must have either key, or name and password',
  'field.exactly-one-of': 'must have exactly one of {fields}',
  'field.some-chat': 'must name a chat',
  'field.some-account': 'must name an account',
  'field.some-person': 'must name a person: a shell is never open to everybody',
  'field.some-route': 'must name a route',
  'field.some-scope': 'must name a scope',
  'field.some-event': 'must name an event',
  'field.run-by-wa2ai':
    'has no address: wa2ai runs this agent. Save the route, then write to it in the playground',
  'field.one-chat': 'must name one chat: a {kind} is never open to everybody',
  'field.options-max': 'must not be above the number of options',
  'field.not-blank': 'must not be blank',
  'field.old-name': 'is now {name}; the earlier name works until the next version',
  'field.depth': 'must not be nested deeper than {levels} levels',
  'field.zero-address': 'must not be the zero address',
  'field.route-prefix': "must not begin with 'r-', as the agents of routes do",
  'field.not-name': 'must not consist of the name',
  'field.unicode': 'must not contain NUL characters or invalid Unicode',
  'field.hosted-env': 'must not contain PORT, HOST, DATA_DIR, AGENT_TOKEN_FILE or AGENT_ID, which wa2ai sets',
  'field.no-login-in-url': 'must not contain a user name or password; use the headers of the agent kind',
  'field.needs-wallet': 'needs WA2AI_NPC_WALLET_KEY: the key of the wallet, on every node',
  'field.needs-text': 'needs a text, and has no file',
  'field.needs-route-id': 'needs routeId as well',
  'field.needs-in-text': 'needs {what} in the text',
  'field.of-request': '{field} {mistake}.',
  'field.whole-number': 'must be a whole number from {min} to {max}',
  'field.name': 'must be 1 to 64 letters, digits, dots, dashes or underscores',
  'field.phone': 'must be a phone number with its country code, 7 to 15 digits',
  'field.one-agent-kind': 'must contain exactly one agent kind: {names}',
  'field.media-type': 'must be a media type such as image/png',
  'field.code-only': 'belongs to the method code only',
  'field.pattern': 'must be a pattern of JavaScript (a regular expression)',
  'field.too-many-bits': 'has, for all items, more than 256 bits',

  or: '{values} or {last}',

  'wait.second': '{count} second',
  'wait.seconds': '{count} seconds',

  'window.second': 'second',
  'window.minute': 'minute',

  'message.sent': 'message sent to the chat',
  'message.of-chat': 'message of the chat',

  'type.string': 'string',
  'type.number': 'number',
  'type.boolean': 'boolean',
  'type.array': 'array',
  'type.int': 'whole number',

  'count.picture': '{count} picture',
  'count.pictures': '{count} pictures',
  'count.file': '{count} file',
  'count.files': '{count} files',
} as const;

export type PhraseCode = keyof typeof PHRASES;

/** A sentence by its code, for translation. A value that is a sentence itself is a phrase, several are a list. */
export interface Phrase {
  code: PhraseCode;
  values?: Record<string, string | number | Phrase | ReadonlyArray<string | Phrase>>;
}

/** A sentence in English, and its phrase unless it comes from elsewhere, such as an agent's error. */
export interface Said {
  sentence: string;
  phrase?: Phrase;
}

/** Why something is as it is: a sentence, and its phrase unless it comes from elsewhere. */
export interface Reason {
  reason: string;
  phrase?: Phrase;
}

/** A sentence as a reason. */
export function because({ sentence, phrase }: Said): Reason {
  return { reason: sentence, ...(phrase && { phrase }) };
}

/** Sentences that follow each other, as one. */
export function together(sentences: readonly Said[]): Said {
  return say('sentences', { sentences });
}

/** Only the reason of what has more. */
export function reasonOf({ reason, phrase }: Reason): Reason {
  return { reason, ...(phrase && { phrase }) };
}

type NamesIn<Form extends string> = Form extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

type Value = string | number | Said | readonly Said[];

type ValuesOf<Code extends PhraseCode> = [NamesIn<(typeof PHRASES)[Code]>] extends [never]
  ? []
  : [values: Readonly<Record<NamesIn<(typeof PHRASES)[Code]>, Value>>];

/** Makes the sentence of a code with its values. */
export function say<Code extends PhraseCode>(code: Code, ...[values]: ValuesOf<Code>): Said {
  if (values === undefined) return { sentence: PHRASES[code], phrase: { code } };
  const given: Readonly<Record<string, Value>> = values;
  const sentence = PHRASES[code].replace(/\{(\w+)\}/g, (_, name: string) => textOf(given[name] ?? ''));
  const carried = Object.entries(given).map(([name, value]) => [name, carriedOf(value)]);
  return { sentence, phrase: { code, values: Object.fromEntries(carried) } };
}

const CODES = new Map<string, PhraseCode>(
  Object.entries(PHRASES).map(([code, form]) => [form, code as PhraseCode]),
);

/** A sentence of the catalogue without values, with its phrase: for what carries only its text, such as a check of zod. */
export function saidBy(sentence: string): Said {
  const code = CODES.get(sentence);
  return { sentence, ...(code && { phrase: { code } }) };
}

/** A sentence as an error that is stored. */
export function errorOfSaid({ sentence, phrase }: Said): { error: string; phrase?: Phrase } {
  return { error: sentence, ...(phrase && { phrase }) };
}

/** Only the sentence and the phrase of what has more. */
export function saidOf({ sentence, phrase }: Said): Said {
  return { sentence, ...(phrase && { phrase }) };
}

/** What a custom issue has besides its place, to say this. */
export function issueOf({ sentence, phrase }: Said): { message: string; params: { phrase?: Phrase } } {
  return { message: sentence, params: { ...(phrase && { phrase }) } };
}

/** A sentence with its texts changed, such as without secrets; those that its phrase carries, too. */
export function changed({ sentence, phrase }: Said, change: (text: string) => string): Said {
  return { sentence: change(sentence), ...(phrase && { phrase: changedPhrase(phrase, change) }) };
}

function changedPhrase({ code, values }: Phrase, change: (text: string) => string): Phrase {
  const text = (value: string | Phrase) =>
    typeof value === 'string' ? change(value) : changedPhrase(value, change);
  const value = (each: NonNullable<Phrase['values']>[string]) => {
    if (typeof each === 'number') return each;
    return Array.isArray(each) ? each.map(text) : text(each as string | Phrase);
  };
  if (!values) return { code };
  return {
    code,
    values: Object.fromEntries(Object.entries(values).map(([name, each]) => [name, value(each)])),
  };
}

function textOf(value: Value): string {
  if (typeof value !== 'object') return String(value);
  return 'sentence' in value ? value.sentence : value.map(({ sentence }) => sentence).join(' ');
}

function carriedOf(value: Value): NonNullable<Phrase['values']>[string] {
  if (typeof value !== 'object') return value;
  return 'sentence' in value
    ? (value.phrase ?? value.sentence)
    : value.map(({ phrase, sentence }) => phrase ?? sentence);
}
