/**
 * The sentences of wa2ai that programs get with a code: those of traces, of account states, of problems, and what is wrong with a field (`field.…`, which
 * follows its name). A code never changes its meaning. `{name}` is a value.
 */
export const PHRASES = {
  sentences: '{sentences}',

  'turn.process-ended':
    'The process of wa2ai ended at least three times while it answered this message: it did not respond any more, ran out of memory or crashed.',

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
  'rule.no-match': 'Its regexFilter does not match the text.',
  'rule.regex-timeout':
    'Its regexFilter took too long on this text and was stopped; write a simpler pattern.',
  'rule.regex-invalid': 'Its regexFilter is not a valid pattern; correct it.',
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

  'chat.paused-until': 'The chat is paused until {until}.',
  'chat.paused': 'The chat is paused until it is resumed.',
  'chat.was-paused': 'The chat was paused when the message had its turn.',

  'route.takes': 'Route {route} takes the message to {agent}.',
  'route.damaged':
    'Route {route} takes the message, but its stored config cannot be used: {damage}. Write its config again.',
  'route.own-agent': 'the agent that wa2ai runs for it',

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
  'field.depth': 'must not be nested deeper than {levels} levels',
  'field.zero-address': 'must not be the zero address',
  'field.route-prefix': "must not begin with 'r-', as the agents of routes do",
  'field.not-name': 'must not consist of the name',
  'field.unicode': 'must not contain NUL characters or invalid Unicode',
  'field.hosted-env': 'must not contain PORT, HOST, DATA_DIR, AGENT_TOKEN_FILE or AGENT_ID, which wa2ai sets',
  'field.no-login-in-url': 'must not contain a user name or password; use the headers of the agent kind',
  'field.needs-wallet': 'needs WA2AI_NPC_WALLET_KEY_FILE: the key of the wallet, on every node',
  'field.needs-text': 'needs a text, and has no file',
  'field.needs-route-id': 'needs routeId as well',
  'field.needs-in-text': 'needs {what} in the text',

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

/** Only the sentence and the phrase of what has more. */
export function saidOf({ sentence, phrase }: Said): Said {
  return { sentence, ...(phrase && { phrase }) };
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
