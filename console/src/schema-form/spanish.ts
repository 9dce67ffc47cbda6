/** Spanish names of fields, by what `labelOf` makes of them. */
export const SPANISH_LABELS: Readonly<Record<string, string>> = {
  Access: 'Acceso',
  Accounts: 'Cuentas',
  'Agent route id': 'Ruta de los agentes',
  Allow: 'Permitidos',
  Answer: 'Responder',
  Api: 'API',
  'Api key': 'Clave de API',
  'App name': 'Nombre de la app',
  Arena: 'Arena',
  Args: 'Argumentos',
  'Ask text': 'Texto de espera',
  Attempts: 'Intentos',
  Audio: 'Audio',
  'Backoff (ms)': 'Espera entre intentos (ms)',
  'Base URL': 'URL base',
  Body: 'Cuerpo',
  Burst: 'Ráfaga',
  Busy: 'Ocupado',
  Capability: 'Capacidad',
  Caption: 'Pie',
  'Card URL': 'URL de la tarjeta',
  Chain: 'Cadena',
  'Chain id': 'Id de la cadena',
  'Chars per second': 'Caracteres por segundo',
  Circuit: 'Circuito',
  Command: 'Orden',
  Commands: 'Comandos',
  Confirm: 'Confirmar',
  Confirmations: 'Confirmaciones',
  'Context messages': 'Mensajes de contexto',
  Contracts: 'Contratos',
  Cpus: 'Procesadores',
  Custom: 'Propias',
  Cwd: 'Carpeta',
  'Daily at': 'Cada día a las',
  Days: 'Días',
  'Debounce (ms)': 'Agrupar (ms)',
  Description: 'Descripción',
  Dialect: 'Dialecto',
  Document: 'Documento',
  Done: 'Hecho',
  Edits: 'Ediciones',
  'Egress filter': 'Filtro de salida',
  Enabled: 'Activado',
  Env: 'Entorno',
  Envelope: 'Formato del mensaje',
  Facts: 'Datos del mensaje',
  Failed: 'Fallido',
  Failure: 'Fallos',
  'Failure notice': 'Aviso de fallo',
  Failures: 'Fallos seguidos',
  'Fallback route id': 'Ruta alternativa',
  'Fallback text': 'Texto alternativo',
  'Fee per gas': 'Tarifa por gas',
  File: 'Archivo',
  'File hosts': 'Servidores de archivos',
  'File name': 'Nombre del archivo',
  'First contacts': 'Primeros contactos',
  Format: 'Formato',
  From: 'Desde',
  Function: 'Función',
  Functions: 'Funciones',
  Gas: 'Gas',
  Group: 'Grupo',
  Headers: 'Cabeceras',
  Help: 'Ayuda',
  'History turns': 'Turnos anteriores',
  Hours: 'Horas',
  Idempotent: 'Idempotente',
  'Idle minutes': 'Minutos sin uso',
  Image: 'Imagen',
  'Image hosts': 'Servidores de imágenes',
  Images: 'Imágenes',
  'Is first contact': 'Es el primer contacto',
  'Is group': 'Es un grupo',
  'Is mentioned': 'Nos menciona',
  Kinds: 'Tipos',
  Languages: 'Idiomas',
  Limits: 'Límites',
  List: 'Lista',
  'Max (ms)': 'Máximo (ms)',
  'Max backoff (ms)': 'Espera máxima entre intentos (ms)',
  'Max chars': 'Máximo de caracteres',
  'Max output chars': 'Máximo de caracteres de salida',
  'Max retry after (ms)': 'Máximo de Retry-After (ms)',
  'Max tokens': 'Máximo de tokens',
  'Max wait (ms)': 'Espera máxima (ms)',
  Media: 'Archivos',
  'Memory (MB)': 'Memoria (MB)',
  Messages: 'Mensajes',
  Metadata: 'Metadatos',
  Method: 'Método',
  'Mime type': 'Tipo de archivo',
  Minutes: 'Minutos',
  Model: 'Modelo',
  Name: 'Nombre',
  Network: 'Red',
  New: 'Nueva',
  Notices: 'Avisos',
  'Open (ms)': 'Abierto (ms)',
  Options: 'Opciones',
  Output: 'Salida',
  Pace: 'Ritmo',
  Params: 'Parámetros',
  Path: 'Ruta HTTP',
  'Patience (ms)': 'Paciencia (ms)',
  Patterns: 'Patrones',
  People: 'Personas',
  Per: 'Un agente por',
  'Per day': 'Por día',
  'Per minutes': 'Por minutos',
  'Per second': 'Por segundo',
  Percent: 'Porcentaje',
  Pids: 'Procesos',
  Port: 'Puerto',
  Prefix: 'Prefijo',
  Presence: 'Presencia',
  Profile: 'Perfil',
  Progress: 'Progreso',
  Pull: 'Descargar la imagen',
  Quest: 'Misión',
  'Quiet hours': 'Horas de silencio',
  Quota: 'Cuota',
  Quote: 'Citar',
  'Quotes us': 'Nos cita',
  Reactions: 'Reacciones',
  'Read receipts': 'Confirmaciones de lectura',
  Reply: 'Respuesta',
  Reward: 'Recompensa',
  'Route id': 'Ruta',
  'Rpc URL': 'URL RPC',
  Runtime: 'Ejecución',
  Scope: 'Alcance',
  Secret: 'Secreto',
  Session: 'Sesión',
  Shared: 'Compartida',
  Slow: 'Lento',
  'Slow after (ms)': 'Lento después de (ms)',
  'Start block': 'Primer bloque',
  Status: 'Estado',
  Stop: 'Parar',
  Stream: 'Mostrar por partes',
  Streaming: 'Por partes',
  System: 'Instrucciones',
  Tags: 'Etiquetas',
  Takeover: 'Intervención',
  Temperature: 'Temperatura',
  Text: 'Texto',
  'Time zone': 'Zona horaria',
  'Timeout (ms)': 'Tiempo límite (ms)',
  To: 'Hasta',
  Token: 'Token',
  Tokens: 'Tokens aceptados',
  Transcribe: 'Transcribir',
  Transport: 'Transporte',
  Typing: 'Escribiendo',
  Uncertain: 'Resultado incierto',
  Unsupported: 'No admitido',
  'Unsupported notice': 'Aviso de tipo no admitido',
  Url: 'URL',
  Version: 'Versión',
  Voice: 'Voz',
  Wager: 'Apuesta',
  'Wait (ms)': 'Espera (ms)',
  'Warm up days': 'Días de calentamiento',
  When: 'Condiciones',
  Working: 'Trabajando',
};

/** Spanish descriptions of fields and agent kinds, by the English description of their schema. */
export const SPANISH_HINTS: Readonly<Record<string, string>> = {
  'A Google ADK server.': 'Un servidor de Google ADK.',
  "The agent's name at the ADK server: its folder. `GET /list-apps` lists the names.":
    'El nombre del agente en el servidor ADK: su carpeta. `GET /list-apps` muestra los nombres.',
  'URL of the ADK server. Default: agentEndpoint.': 'URL del servidor ADK. Por defecto: agentEndpoint.',
  'Spelling of the request body: `snake` (`app_name`), `camel` (`appName`), or `auto`, which learns it per server. Default: `auto`.':
    'Escritura del cuerpo de la petición: `snake` (`app_name`), `camel` (`appName`) o `auto`, que la aprende de cada servidor. Por defecto: `auto`.',
  "People's files of at most 10 MB: `true` sends all as `inlineData`, `'url'` as `fileData` with a link (`WA2AI_PUBLIC_URL`), `false` none. Default: pictures, sounds, videos, PDF and plain text as `inlineData`, to servers that are ADK's own.":
    "Archivos de personas de hasta 10 MB: `true` los envía todos como `inlineData`, `'url'` como `fileData` con un enlace (`WA2AI_PUBLIC_URL`), `false` ninguno. Por defecto: imágenes, sonidos, vídeos, PDF y texto como `inlineData`, a servidores del propio ADK.",
  'Extra request headers, such as `Authorization`. Stored; the API shows `***` for each value.':
    'Más cabeceras de la petición, como `Authorization`. Se guardan; la API muestra `***` en cada valor.',
  'Time limit of one attempt, in milliseconds. Default: WA2AI_AGENT_TIMEOUT_MS.':
    'Tiempo límite de un intento, en milisegundos. Por defecto: WA2AI_AGENT_TIMEOUT_MS.',
  'An agent of the NPC Engine (agent card specification): tasks over JSON-RPC.':
    'Un agente de NPC Engine (especificación de la tarjeta de agente): tareas por JSON-RPC.',
  'URL of the agent card. Default: `/.well-known/agent-card` below agentEndpoint.':
    'URL de la tarjeta del agente. Por defecto: `/.well-known/agent-card` debajo de agentEndpoint.',
  'URL of the JSON-RPC endpoint. Default: the one of the card, else `/rpc` below agentEndpoint.':
    'URL de JSON-RPC. Por defecto: la de la tarjeta; si no, `/rpc` debajo de agentEndpoint.',
  'API key, sent in the header that the card names (`X-API-Key`). Stored; the API shows `***`.':
    'Clave de API, enviada en la cabecera que la tarjeta indica (`X-API-Key`). Se guarda; la API muestra `***`.',
  'Capability that text without a command opens. Default: `social`.':
    'Capacidad que abre un texto sin comando. Por defecto: `social`.',
  'Parameters of every task that the message does not give, such as `{"tokenAddress": "0x…"}`. A text may contain `{{text}}`, `{{from}}`, `{{name}}` and the other variables of ABI argument templates.':
    'Parámetros de cada tarea que el mensaje no da, como `{"tokenAddress": "0x…"}`. Un texto puede contener `{{text}}`, `{{from}}`, `{{name}}` y las otras variables de las plantillas de argumentos ABI.',
  'Template of the reply: `Sent: {{result.transactionHash}}`. Names are fields of the task: `taskId`, `status`, `result`. Default: the text of the result, else its fields.':
    'Plantilla de la respuesta: `Enviado: {{result.transactionHash}}`. Los nombres son campos de la tarea: `taskId`, `status`, `result`. Por defecto: el texto del resultado; si no hay, sus campos.',
  '`true`: the chat gets a line when a long task passes 25, 50 and 75 %. Default: `false`.':
    '`true`: el chat recibe una línea cuando una tarea larga pasa del 25, 50 y 75 %. Por defecto: `false`.',
  'How long a message waits for the end of its task, in milliseconds. Then the chat gets a line, and the end when it comes. Default: 20000.':
    'Cuánto espera un mensaje el final de su tarea, en milisegundos. Después el chat recibe una línea, y el final cuando llega. Por defecto: 20000.',
  'An agent that speaks A2A (Agent2Agent), version 1.0 or 0.3.':
    'Un agente que habla A2A (Agent2Agent), versión 1.0 o 0.3.',
  'URL of the agent card. Default: `/.well-known/agent-card.json` below agentEndpoint.':
    'URL de la tarjeta del agente. Por defecto: `/.well-known/agent-card.json` debajo de agentEndpoint.',
  'Version of the protocol. Default: `auto`, the newest one of the card.':
    'Versión del protocolo. Por defecto: `auto`, la más nueva de la tarjeta.',
  'Binding of the protocol. Default: `auto`, the first one of the card; for version 0.3 JSON-RPC if the card has it.':
    'Transporte del protocolo. Por defecto: `auto`, el primero de la tarjeta; con la versión 0.3, JSON-RPC si la tarjeta lo tiene.',
  'Key of the agent, sent as its card asks for it: in the named header, or as `Authorization: Bearer`. Stored; the API shows `***`.':
    'Clave del agente, enviada como pide su tarjeta: en la cabecera indicada o como `Authorization: Bearer`. Se guarda; la API muestra `***`.',
  '`false`: no streams although the card offers them. Default: as the card says.':
    '`false`: sin respuestas por partes aunque la tarjeta las ofrezca. Por defecto: lo que dice la tarjeta.',
  'Template of the reply over `{text, state, taskId}`, and `completed`, `inputRequired`, `failed`, `rejected`, `authRequired`, of which one is true: `{{text}}{{#rejected}} (refused){{/rejected}}`. Default: the text of completed and of `input-required` tasks; no text of the others.':
    'Plantilla de la respuesta con `{text, state, taskId}`, y `completed`, `inputRequired`, `failed`, `rejected`, `authRequired`, de los que uno es verdadero: `{{text}}{{#rejected}} (rechazado){{/rejected}}`. Por defecto: el texto de las tareas terminadas y de `input-required`; ningún texto de las demás.',
  '`true`: the chat gets what the agent says about a running task, at most every 15 seconds. Default: `false`.':
    '`true`: el chat recibe lo que el agente dice de una tarea en curso, como mucho cada 15 segundos. Por defecto: `false`.',
  'A model behind an OpenAI-compatible API.': 'Un modelo con una API compatible con OpenAI.',
  'Name of the model. `GET /v1/models` of the server lists the names.':
    'Nombre del modelo. `GET /v1/models` del servidor muestra los nombres.',
  'URL of the server: with or without `/v1`, or the full path of the request. Default: agentEndpoint.':
    'URL del servidor: con o sin `/v1`, o la ruta completa de la petición. Por defecto: agentEndpoint.',
  'Sent as `Authorization: Bearer`. Stored; the API shows `***`.':
    'Se envía como `Authorization: Bearer`. Se guarda; la API muestra `***`.',
  'Which API of the server: `chat` (`/v1/chat/completions`) or `responses` (`/v1/responses`). Default: `chat`, or what the full path of the address says.':
    'Qué API del servidor: `chat` (`/v1/chat/completions`) o `responses` (`/v1/responses`). Por defecto: `chat`, o lo que dice la ruta completa de la dirección.',
  'Instructions for the model, before the conversation. Default: none.':
    'Instrucciones para el modelo, antes de la conversación. Por defecto: ninguna.',
  '`false`: the model gets only words. Default: `true`, the system text says who writes, where and when, see below.':
    '`false`: el modelo recibe solo palabras. Por defecto: `true`, el texto del sistema dice quién escribe, dónde y cuándo.',
  'Number of earlier turns of the chat that the model gets, at most 32,000 characters together. 0: none. Default: 10.':
    'Turnos anteriores del chat que recibe el modelo, como mucho 32.000 caracteres en total. 0: ninguno. Por defecto: 10.',
  "Longest answer, in tokens, reasoning included. Default: the server's own.":
    'Respuesta más larga, en tokens, con el razonamiento. Por defecto: la del servidor.',
  "Randomness of the answer. Some models take none. Default: the server's own.":
    'Aleatoriedad de la respuesta. Algunos modelos no la admiten. Por defecto: la del servidor.',
  "Whether people's pictures of at most 10 MB are sent. Default: where the model takes them; without it the words only.":
    'Si se envían las imágenes de personas de hasta 10 MB. Por defecto: donde el modelo las admite; si no, solo las palabras.',
  'A shell: the messages of allowed people run as commands in a SWE-ReX runtime.':
    'Una terminal: los mensajes de personas permitidas se ejecutan como órdenes en un servidor SWE-ReX.',
  'channelIds of the people who may use the shell; everybody else is refused. In a group, the group must be in the list too. `*` is refused.':
    'channelIds de las personas que pueden usar la terminal; a las demás se les niega. En un grupo, también el grupo debe estar en la lista. `*` no se admite.',
  'Image of the containers that wa2ai starts, one for each person and chat: that of `runtime-server/`, or one with `swerex-remote`. The route then has no `agentEndpoint`.':
    'Imagen de los contenedores que wa2ai inicia, uno por persona y chat: la de `runtime-server/`, o una con `swerex-remote`. La ruta entonces no tiene `agentEndpoint`.',
  'With `image`: the container stops after so many minutes without work. Default: 30.':
    'Con `image`: el contenedor se para después de estos minutos sin trabajo. Por defecto: 30.',
  'Sent to the runtime at `agentEndpoint` as `X-API-Key`. Stored; the API shows `***`. Default: no key, which runtimes refuse.':
    'Se envía al servidor de `agentEndpoint` como `X-API-Key`. Se guarda; la API muestra `***`. Por defecto: sin clave, lo que los servidores rechazan.',
  'Folder that a new session begins in. Default: that of the runtime.':
    'Carpeta en la que empieza una sesión nueva. Por defecto: la del servidor.',
  'Variables of each session. Stored; the API shows `***` for each value.':
    'Variables de cada sesión. Se guardan; la API muestra `***` en cada valor.',
  'A command that runs longer is interrupted, in milliseconds. Default: 600000.':
    'Una orden que dura más se interrumpe, en milisegundos. Por defecto: 600000.',
  'Output with more characters is sent as a document. Default: 3000.':
    'Una salida con más caracteres se envía como documento. Por defecto: 3000.',
  'Patterns (ECMAScript) of commands that run only after the person has answered `yes`. Default: commands that delete or overwrite much, such as `rm -r`; see below.':
    'Patrones (ECMAScript) de órdenes que solo se ejecutan después de que la persona responda `yes`. Por defecto: órdenes que borran o sobrescriben mucho, como `rm -r`.',
  'An agent that wa2ai runs in a container, and wakes when a message comes.':
    'Un agente que wa2ai ejecuta en un contenedor, y que despierta cuando llega un mensaje.',
  'Image of the container. Required for the runtime `docker`.':
    'Imagen del contenedor. Obligatoria con la ejecución `docker`.',
  "Program and arguments, each one text. Runs in the agent's `workspace/`. Required for the runtime `process`; in a container it replaces the image's own.":
    'Programa y argumentos, cada uno un texto. Se ejecuta en la carpeta `workspace/` del agente. Obligatorio con la ejecución `process`; en un contenedor sustituye al programa de la imagen.',
  '`docker`: a container of Docker or podman. `process`: a child process of wa2ai, **without isolation**; needs `WA2AI_PROCESS_AGENTS=on`, and the scope `admin` to write the route. Default: `docker`.':
    '`docker`: un contenedor de Docker o podman. `process`: un proceso hijo de wa2ai, **sin aislamiento**; requiere `WA2AI_PROCESS_AGENTS=on` y el permiso `admin` para escribir la ruta. Por defecto: `docker`.',
  'What the program speaks. Default: `chat` (`POST /chat`).':
    'Qué habla el programa. Por defecto: `chat` (`POST /chat`).',
  'Who gets an agent of their own: each person, each chat, or all together one. Default: `person`.':
    'Quién recibe un agente propio: cada persona, cada chat, o uno para todos. Por defecto: `person`.',
  'Variables of the program, such as the key of a model. Stored; the API shows `***` for each value.':
    'Variables del programa, como la clave de un modelo. Se guardan; la API muestra `***` en cada valor.',
  'Memory of the container, in MB. Default: 1024.': 'Memoria del contenedor, en MB. Por defecto: 1024.',
  'Processors of the container. Default: 1.': 'Procesadores del contenedor. Por defecto: 1.',
  'Processes and threads of the container. Default: 256.':
    'Procesos e hilos del contenedor. Por defecto: 256.',
  'The agent stops after so many minutes without work. Default: 30.':
    'El agente se para después de estos minutos sin trabajo. Por defecto: 30.',
  '`internet`: the container reaches public addresses; `none`: nothing. Default: `internet`. Exactly: see below.':
    '`internet`: el contenedor llega a direcciones públicas; `none`: a nada. Por defecto: `internet`. La documentación lo dice con exactitud.',
  'When the image is pulled: `always` before each creation of a container. Default: `missing`.':
    'Cuándo se descarga la imagen: `always`, antes de crear cada contenedor. Por defecto: `missing`.',
  'Port that the program listens on. Default: 8000 for `adk`, 80 for `abi`, 8080 for the others; a process gets a free one in `PORT`.':
    'Puerto en el que escucha el programa. Por defecto: 8000 con `adk`, 80 con `abi`, 8080 con los demás; un proceso recibe uno libre en `PORT`.',
  'Settings of the profile\'s own agent kind: `{"appName": "helper"}` for `adk`, `{"functions": [...]}` for `abi`, fields of `config.a2a` for `a2a`. Default for `adk`: the only app of the server; for `abi`: the manifest at `/agent.json`.':
    'Ajustes del tipo de agente del perfil: `{"appName": "helper"}` con `adk`, `{"functions": [...]}` con `abi`, campos de `config.a2a` con `a2a`. Por defecto con `adk`: la única app del servidor; con `abi`: el manifiesto en `/agent.json`.',
  'An agent that takes ABI calldata (agent container specification).':
    'Un agente que recibe datos de llamada ABI (especificación del contenedor de agente).',
  'Signatures such as `function add(uint256 a, uint256 b) returns (uint256 sum)`, structs and JSON ABI entries; or the URL of a manifest (`{"abi": [...]}`). A manifest is loaded at the first message and cached for five minutes, or longer while its server is unavailable; it is not checked when the route is saved.':
    'Firmas como `function add(uint256 a, uint256 b) returns (uint256 sum)`, estructuras y entradas de ABI en JSON; o la URL de un manifiesto (`{"abi": [...]}`). Un manifiesto se carga con el primer mensaje y se guarda cinco minutos, o más mientras su servidor no está disponible; no se comprueba al guardar la ruta.',
  'Function for text that is not a command: a name, a signature (`f(uint256)`) for overloaded functions, or a selector.':
    'Función para un texto que no es un comando: un nombre, una firma (`f(uint256)`) si hay varias con ese nombre, o un selector.',
  'Argument template, by position or by name: `["{{text}}", "{{from}}"]`. Values: `text`, `from`, `phone`, `name`, `waMessageId` (also as `messageId`), `channelId`, `accountId`, `timestamp` (seconds), `quotedText`, `editOf` (the `waMessageId` of the message that this one edits), `mentions` (a list of `id`, `tag`, `name`), `isGroup`, `chat` (`person` or `group`), `subject`, `number`, `lid`, `language`, `quotedFrom` (a JID), `quotedName`, `kind`, `latitude` and `longitude` (texts), and for files `media`, `mediaType`, `fileName`. With a template every message is a call. Default: commands.':
    'Plantilla de los argumentos, por posición o por nombre: `["{{text}}", "{{from}}"]`. Valores: `text`, `from`, `phone`, `name`, `waMessageId` (también como `messageId`), `channelId`, `accountId`, `timestamp` (segundos), `quotedText`, `editOf` (el `waMessageId` del mensaje que este edita), `mentions` (una lista de `id`, `tag`, `name`), `isGroup`, `chat` (`person` o `group`), `subject`, `number`, `lid`, `language`, `quotedFrom` (un JID), `quotedName`, `kind`, `latitude` y `longitude` (textos), y para archivos `media`, `mediaType`, `fileName`. Con una plantilla cada mensaje es una llamada. Por defecto: comandos.',
  'Template of the reply: `It is {{sum}}.`, `{{user.name}}`, `{{#items}}{{name}} {{/items}}`, `{{^valid}}no{{/valid}}`; or of a file. Default: a single text as it is; several outputs one per line, with their names. A function without outputs sends no reply.':
    'Plantilla de la respuesta: `Es {{sum}}.`, `{{user.name}}`, `{{#items}}{{name}} {{/items}}`, `{{^valid}}no{{/valid}}`; o de un archivo. Por defecto: un solo texto tal cual; varias salidas, una por línea, con sus nombres. Una función sin salidas no envía respuesta.',
  'The output of type `bytes` that is sent as a picture: `{{chart}}`.':
    'La salida de tipo `bytes` que se envía como imagen: `{{chart}}`.',
  'The output of type `bytes` that is sent as a sound.':
    'La salida de tipo `bytes` que se envía como sonido.',
  'The output of type `bytes` that is sent as a document.':
    'La salida de tipo `bytes` que se envía como documento.',
  'Template of the media type. Default: detected from the first bytes.':
    'Plantilla del tipo de archivo. Por defecto: se detecta por los primeros bytes.',
  'Template of the file name; documents only.': 'Plantilla del nombre del archivo; solo documentos.',
  'Template of the caption; not with `audio`.': 'Plantilla del pie; no con `audio`.',
  'Form of request and answer: `raw` calldata, `json` (`{requestId, request}` → `{steps, result}`), or `auto`, which detects it. Default: `raw`.':
    'Forma de la petición y la respuesta: datos `raw`, `json` (`{requestId, request}` → `{steps, result}`) o `auto`, que la detecta. Por defecto: `raw`.',
  "Path of the call below agentEndpoint. Default: agentEndpoint's own.":
    'Ruta HTTP de la llamada debajo de agentEndpoint. Por defecto: la de agentEndpoint.',
  '`true`: a failed or timed-out call is retried. Default: `false`, only 429, 502, 503 and an agent that cannot be reached are retried.':
    '`true`: una llamada que falla o no termina a tiempo se repite. Por defecto: `false`, solo se repiten 429, 502, 503 y un agente inalcanzable.',
  'Repeats each message, without any server: for trying wa2ai only.':
    'Repite cada mensaje, sin servidor: solo para probar wa2ai.',
  'Text before each answer, such as `Echo: `. Default: none.':
    'Texto antes de cada respuesta, como `Eco: `. Por defecto: ninguno.',
  'An HTTP endpoint that takes JSON, such as an n8n workflow.':
    'Una dirección HTTP que recibe JSON, como un flujo de n8n.',
  'Default: `POST`.': 'Por defecto: `POST`.',
  'Key of the signature in `X-Wa2ai-Signature`. Stored; the API shows `***`. Default: no signature.':
    'Clave de la firma en `X-Wa2ai-Signature`. Se guarda; la API muestra `***`. Por defecto: sin firma.',
  'Template of the JSON body: any JSON with placeholders such as `"{{text}}"`. Default: all values, see below.':
    'Plantilla del cuerpo JSON: cualquier JSON con marcas como `"{{text}}"`. Por defecto: todos los valores.',
  '`sync`: the response contains the answer, except with the status 202 or 204. `async`: the response is ignored, and the answer comes with `POST /api/replies/{token}`. Default: `sync`.':
    '`sync`: la respuesta HTTP contiene la respuesta, salvo con los estados 202 o 204. `async`: la respuesta HTTP se ignora, y la respuesta llega con `POST /api/replies/{token}`. Por defecto: `sync`.',
  'Where the answer is in a JSON response: a path such as `data.answer` or `choices.0.text`. Default: the first of `output`, `text`, `reply`, `response`, `message`.':
    'Dónde está la respuesta en el JSON: una ruta como `data.answer` o `choices.0.text`. Por defecto: el primero de `output`, `text`, `reply`, `response`, `message`.',
  'Sent for kinds of messages that the agent cannot take, instead of `notices.unsupported`.':
    'Se envía con tipos de mensajes que el agente no admite, en lugar de `notices.unsupported`.',
  'Sent when a turn has failed, instead of `notices.failed`.':
    'Se envía cuando un turno ha fallado, en lugar de `notices.failed`.',
  'What happens when the agent does not answer.': 'Qué pasa cuando el agente no responde.',
  'Minimum number of attempts per message when the agent rejects it. Default: WA2AI_AGENT_ATTEMPTS.':
    'Mínimo de intentos por mensaje cuando el agente lo rechaza. Por defecto: WA2AI_AGENT_ATTEMPTS.',
  'Keep retrying an unavailable agent (no connection, 429, 502, 503) for this long, in milliseconds, even after `attempts`. Default: 0 beside attempts or a fallback, else WA2AI_AGENT_PATIENCE_MS. Also the limit of all waits of a message together when the agent asks for them with `Retry-After`; 0: no such wait. Default of that limit: WA2AI_AGENT_PATIENCE_MS (120000 if that is 0), and at least `maxRetryAfterMs`.':
    'Cuánto se insiste con un agente no disponible (sin conexión, 429, 502, 503), en milisegundos, también después de `attempts`. Por defecto: 0 junto a los intentos o una ruta alternativa, si no WA2AI_AGENT_PATIENCE_MS. También limita todas las esperas de un mensaje que el agente pide con `Retry-After`; 0: ninguna. Por defecto de ese límite: WA2AI_AGENT_PATIENCE_MS (120000 si es 0), y al menos `maxRetryAfterMs`.',
  'Upper limit of the first wait between attempts, in milliseconds. Default: 500.':
    'Límite de la primera espera entre intentos, en milisegundos. Por defecto: 500.',
  'Upper limit of every wait between attempts, in milliseconds. Default: 10000.':
    'Límite de cada espera entre intentos, en milisegundos. Por defecto: 10000.',
  'Longest `Retry-After` that wa2ai waits in full, in milliseconds. Default: 120000.':
    'El `Retry-After` más largo que wa2ai espera entero, en milisegundos. Por defecto: 120000.',
  "When a run may have happened and the agent's session cannot be read: `retry` calls the agent again, which may run it twice; `dead-letter` does not, and the person gets no answer until a replay. Default: `retry` after a crash of wa2ai or a lost connection, `dead-letter` after a time-out.":
    'Cuando una ejecución pudo ocurrir y la sesión del agente no se puede leer: `retry` llama al agente otra vez, que puede ejecutarla dos veces; `dead-letter` no, y la persona no recibe respuesta hasta que se repita. Por defecto: `retry` después de una caída de wa2ai o una conexión perdida, `dead-letter` después de un tiempo agotado.',
  'Stops calling an endpoint that keeps failing; each agent that wa2ai runs counts for itself. Default: every message is an attempt.':
    'Deja de llamar a una dirección que falla siempre; cada agente que wa2ai ejecuta cuenta por separado. Por defecto: cada mensaje es un intento.',
  'Consecutive failed attempts that open the circuit.': 'Intentos fallidos seguidos que abren el circuito.',
  'How long the circuit then stays open, in milliseconds.':
    'Cuánto queda entonces abierto el circuito, en milisegundos.',
  "Route whose agent gets one attempt when this route's agent has failed. Its own fallback is not used.":
    'Ruta cuyo agente recibe un intento cuando el de esta ha fallado. No se usa la alternativa de aquella.',
  'Sent as the reply when the agent has failed; the message then counts as answered.':
    'Se envía como respuesta cuando el agente ha fallado; el mensaje cuenta entonces como respondido.',
  "How the agent's text is shown.": 'Cómo se muestra el texto del agente.',
  "`whatsapp`: Markdown becomes WhatsApp's bold, italic, strike, code and lists; `plain`: without marks; `as-is`: the agent's text unchanged. Default: whatsapp.":
    '`whatsapp`: Markdown se convierte en negrita, cursiva, tachado, código y listas de WhatsApp; `plain`: sin marcas; `as-is`: el texto del agente sin cambios. Por defecto: whatsapp.',
  'A longer text becomes several messages, cut between paragraphs, sentences or words. Default: 4000.':
    'Un texto más largo se reparte en varios mensajes, cortado entre párrafos, frases o palabras. Por defecto: 4000.',
  'Where the first message of an answer quotes the question. Default: group.':
    'Dónde el primer mensaje de una respuesta cita la pregunta. Por defecto: group.',
  'What is shown while the agent writes. `paragraphs`: each paragraph is a message as soon as it is complete; `edit`: one message that grows. For ADK, A2A and OpenAI-compatible agents. Default: off.':
    'Qué se muestra mientras el agente escribe. `paragraphs`: cada párrafo es un mensaje en cuanto está completo; `edit`: un mensaje que crece. Para agentes ADK, A2A y compatibles con OpenAI. Por defecto: off.',
  'Pictures of these hosts in Markdown (`![text](https://…)`) are sent as pictures, at most 5 of an answer. Default: none.':
    'Las imágenes de estos servidores en Markdown (`![text](https://…)`) se envían como imágenes, como mucho 5 por respuesta. Por defecto: ninguno.',
  'Files of these hosts that an ADK or webhook agent names by URL are sent as files, at most 5 of an answer. Default: none.':
    'Los archivos de estos servidores que un agente ADK o webhook nombra por URL se envían como archivos, como mucho 5 por respuesta. Por defecto: ninguno.',
  'Answers with voice messages. Only in `config` of a route. An answer that cannot be spoken is sent as text. Default: off.':
    'Responde con mensajes de voz. Solo en `config` de una ruta. Una respuesta que no se puede hablar se envía como texto. Por defecto: off.',
  'URL of an OpenAI-compatible server: with or without `/v1`, or the full path that ends with `/audio/speech`.':
    'URL de un servidor compatible con OpenAI: con o sin `/v1`, o la ruta completa que termina en `/audio/speech`.',
  'Default: `tts-1`.': 'Por defecto: `tts-1`.',
  'Name of the voice. Default: `alloy`.': 'Nombre de la voz. Por defecto: `alloy`.',
  '`same-as-asked`: a voice message is answered with one, a text with text. Default: same-as-asked.':
    '`same-as-asked`: un mensaje de voz se responde con voz, un texto con texto. Por defecto: same-as-asked.',
  'A longer answer is sent as text. Default: 1000.':
    'Una respuesta más larga se envía como texto. Por defecto: 1000.',
  "`on`: removes secrets, stack traces, reasoning (`<think>`), internal file paths and private addresses from the agent's text. Default: on.":
    '`on`: quita del texto del agente secretos, trazas de errores, razonamiento (`<think>`), rutas internas de archivos y direcciones privadas. Por defecto: on.',
  'Which messages in groups are answered.': 'Qué mensajes de grupos se responden.',
  '`mention`: messages that mention the account, reply to one of its messages or match a pattern. Default: mention on a route with `*`, always on the route of a group.':
    '`mention`: mensajes que mencionan la cuenta, responden a uno de sus mensajes o cumplen un patrón. Por defecto: mention en una ruta con `*`, always en la ruta de un grupo.',
  'ECMAScript patterns, without flags; a text with a match of one counts as a mention. Default: none.':
    'Patrones ECMAScript, sin opciones; un texto que cumple uno cuenta como mención. Por defecto: ninguno.',
  'Unanswered messages since the last answer that the agent gets with a message. Default: 20.':
    'Mensajes sin respuesta desde la última, que el agente recibe con un mensaje. Por defecto: 20.',
  'Which messages belong to one session of the agent.': 'Qué mensajes pertenecen a una sesión del agente.',
  '`chat`: the members of a group share one session; `person`: a person has one session in all chats. Default: person-in-chat.':
    '`chat`: los miembros de un grupo comparten una sesión; `person`: una persona tiene una sesión en todos los chats. Por defecto: person-in-chat.',
  'A new session begins when nothing was answered for so long. 0: never. Default: 0.':
    'Una sesión nueva empieza cuando nada se respondió en este tiempo. 0: nunca. Por defecto: 0.',
  'A new session begins each day at this time, such as `04:00`. Default: never.':
    'Una sesión nueva empieza cada día a esta hora, como `04:00`. Por defecto: nunca.',
  'Of `dailyAt`. Default: UTC.': 'De `dailyAt`. Por defecto: UTC.',
  'When messages that a person writes in a row are answered.':
    'Cuándo se responden los mensajes que una persona escribe seguidos.',
  'Messages of one person that follow each other within this time become one question. 0: each message is a question. Default: 0.':
    'Mensajes de una persona que se siguen en este tiempo son una sola pregunta. 0: cada mensaje es una pregunta. Por defecto: 0.',
  'The first of these messages waits no longer than this. Default: 10000.':
    'El primero de estos mensajes no espera más que esto. Por defecto: 10000.',
  '`queue`: a message that comes while the agent works waits; `merge`: all that came meanwhile become one question; `interrupt`: the call of the agent ends and starts again with the new message added. Default: queue.':
    '`queue`: un mensaje que llega mientras el agente trabaja espera; `merge`: todos los que llegan entretanto son una pregunta; `interrupt`: la llamada al agente termina y empieza otra vez con el mensaje nuevo añadido. Por defecto: queue.',
  '`follow`: an edited message is answered by its new text, and one that its author deleted is not answered; `ignore`: the first text counts. Default: follow.':
    '`follow`: un mensaje editado se responde por su texto nuevo, y uno borrado por su autor no se responde; `ignore`: cuenta el primer texto. Por defecto: follow.',
  'Commands of a person that wa2ai answers itself, unless the agent has a command of the same name.':
    'Comandos de una persona que wa2ai responde por sí mismo, si el agente no tiene un comando con ese nombre.',
  '`/new` and `/reset` begin a new session. Default: true.':
    '`/new` y `/reset` empiezan una sesión nueva. Por defecto: true.',
  "`/help` lists wa2ai's commands, after those of the agent. Default: true.":
    '`/help` muestra los comandos de wa2ai, después de los del agente. Por defecto: true.',
  '`/stop` ends the answer that is being made. Default: true.':
    '`/stop` termina la respuesta en curso. Por defecto: true.',
  '`/status` says that messages are answered, and since when. Default: true.':
    '`/status` dice que los mensajes se responden, y desde cuándo. Por defecto: true.',
  "Texts in the person's language where there would be silence.":
    'Textos en el idioma de la persona donde habría silencio.',
  'Sent for a kind of message that the agent cannot take, at most once in ten minutes. A text replaces the built-in one. Default: true.':
    'Se envía con un tipo de mensaje que el agente no admite, como mucho una vez en diez minutos. Un texto sustituye al incluido. Por defecto: true.',
  'Sent when a turn has failed, at most once in ten minutes. Default: true.':
    'Se envía cuando un turno ha fallado, como mucho una vez en diez minutos. Por defecto: true.',
  'Sent once for each question whose answer takes longer than `slowAfterMs`; while the agent cannot be reached, a built-in text says so instead. Default: true.':
    'Se envía una vez por cada pregunta cuya respuesta tarda más que `slowAfterMs`; mientras no se puede llegar al agente, un texto incluido lo dice en su lugar. Por defecto: true.',
  'Default: 20000.': 'Por defecto: 20000.',
  'How many messages of one person are answered.': 'Cuántos mensajes de una persona se responden.',
  'Messages of one person in a chat that are answered in `perMinutes`. 0: no limit. Default: 0.':
    'Mensajes de una persona en un chat que se responden en `perMinutes`. 0: sin límite. Por defecto: 0.',
  'Default: 60.': 'Por defecto: 60.',
  "Sent once when the limit is reached. Default: a sentence in the person's language.":
    'Se envía una vez cuando se alcanza el límite. Por defecto: una frase en el idioma de la persona.',
  'What a person sees of the work on a message, besides the answer.':
    'Qué ve una persona del trabajo en un mensaje, además de la respuesta.',
  '`on-turn`: the blue ticks appear when the turn of a message begins. Default: on-turn.':
    '`on-turn`: las marcas azules aparecen cuando empieza el turno de un mensaje. Por defecto: on-turn.',
  '"typing..." is shown while the agent works. Default: true.':
    'Se muestra «escribiendo...» mientras el agente trabaja. Por defecto: true.',
  'Emoji on the message that is answered. Default: none.':
    'Emoji en el mensaje que se responde. Por defecto: ninguno.',
  'On the message while the agent works; removed at the end.':
    'En el mensaje mientras el agente trabaja; se quita al final.',
  'On the message after the answer.': 'En el mensaje después de la respuesta.',
  'On the message when there is no answer.': 'En el mensaje cuando no hay respuesta.',
  'Who gets answers.': 'Quién recibe respuestas.',
  '`listed`: people and groups of `list` only; `approved`: also chats that the owner approved, and messages of others wait for the owner. Default: everyone.':
    '`listed`: solo personas y grupos de `list`; `approved`: también chats que el propietario aprobó; los mensajes de otros esperan al propietario. Por defecto: everyone.',
  'Phone numbers with country code, LIDs or group ids. Default: none.':
    'Números de teléfono con código de país, LIDs o ids de grupos. Por defecto: ninguno.',
  'Sent to a person whose first message waits for the owner. Default: nothing is sent.':
    'Se envía a una persona cuyo primer mensaje espera al propietario. Por defecto: no se envía nada.',
  'What happens when the owner writes in the chat.': 'Qué pasa cuando el propietario escribe en el chat.',
  'How long the chat is paused after a message that the owner writes by hand. 0: such messages change nothing. Default: 30.':
    'Cuánto se pausa el chat después de un mensaje que el propietario escribe a mano. 0: esos mensajes no cambian nada. Por defecto: 30.',
  'Messages of the time without answers, also those of the owner, that the agent gets with the next message. Default: 20.':
    'Mensajes del tiempo sin respuestas, también los del propietario, que el agente recibe con el mensaje siguiente. Por defecto: 20.',
  'Conditions of the route besides `regexFilter`; all that are given must hold.':
    'Condiciones de la ruta además de `regexFilter`; deben cumplirse todas.',
  '`mon` to `sun`. With hours that cross midnight, the day on which they begin.':
    'De `mon` a `sun`. Con horas que cruzan la medianoche, el día en que empiezan.',
  '`09:00-18:00`; may cross midnight. The end is not included.':
    '`09:00-18:00`; puede cruzar la medianoche. El final no se incluye.',
  'Of `days` and `hours`. Default: UTC.': 'De `days` y `hours`. Por defecto: UTC.',
  'Codes of two letters, such as `es`: the text is in one of them.':
    'Códigos de dos letras, como `es`: el texto está en uno de ellos.',
  'The message is one of them: `text`, `image`, `video`, `audio`, `voice`, `document`, `sticker`, `location`, `contact`, `poll`, `event`, `other`. A picture with a caption is an `image`.':
    'El mensaje es uno de ellos: `text`, `image`, `video`, `audio`, `voice`, `document`, `sticker`, `location`, `contact`, `poll`, `event`, `other`. Una imagen con pie es `image`.',
  'The chat is a group, or is not.': 'El chat es un grupo, o no lo es.',
  'The message mentions the account, or does not.': 'El mensaje menciona la cuenta, o no.',
  'The message replies to one of the account, or does not.': 'El mensaje responde a uno de la cuenta, o no.',
  'No message of the chat was answered before this one, or one was.':
    'Ningún mensaje del chat se respondió antes de este, o alguno sí.',
  'The chat has one of these tags (`PUT /api/chats/{id}/tags`).':
    'El chat tiene una de estas etiquetas (`PUT /api/chats/{id}/tags`).',
  'Share of chats, 0 to 100. A chat stays in or out, and a larger share only adds chats.':
    'Parte de los chats, de 0 a 100. Un chat queda dentro o fuera, y una parte mayor solo añade chats.',
  'What happens to files of people before the agent gets them.':
    'Qué pasa con los archivos de personas antes de que el agente los reciba.',
  'Turns voice messages into text. Default: off.': 'Convierte mensajes de voz en texto. Por defecto: off.',
  'URL of an OpenAI-compatible server: with or without `/v1`, or the full path that ends with `/audio/transcriptions`.':
    'URL de un servidor compatible con OpenAI: con o sin `/v1`, o la ruta completa que termina en `/audio/transcriptions`.',
  'Default: `whisper-1`.': 'Por defecto: `whisper-1`.',
  'Offers the agent to programs as the A2A skill `talk-to-<name of the route>`. Default: false.':
    'Ofrece el agente a programas como la habilidad A2A `talk-to-<nombre de la ruta>`. Por defecto: false.',
  'Messages to people who never wrote to the account.':
    'Mensajes a personas que nunca escribieron a la cuenta.',
  'First contacts in 24 hours; half of them in one hour. 0: no limit. Default: 200.':
    'Primeros contactos en 24 horas; la mitad de ellos en una hora. 0: sin límite. Por defecto: 200.',
  'A new account begins with half of `perDay`, and has all of it after so long. Default: 14.':
    'Una cuenta nueva empieza con la mitad de `perDay`, y lo tiene entero después de este tiempo. Por defecto: 14.',
  'From `from` to `to`, which may be on the next day, nobody is written to who did not write in the last 24 hours. Default: none.':
    'Desde `from` hasta `to`, que puede ser el día siguiente, no se escribe a nadie que no escribió en las últimas 24 horas. Por defecto: ninguna.',
  'The pace of all messages. Answers to people go before other messages.':
    'El ritmo de todos los mensajes. Las respuestas a personas salen antes que otros mensajes.',
  'All messages of the account, in the long run. 0: no limit. Default: 80.':
    'Todos los mensajes de la cuenta, a la larga. 0: sin límite. Por defecto: 80.',
  'Messages that may leave at once. Default: 1000.':
    'Mensajes que pueden salir de una vez. Por defecto: 1000.',
  'How long a message is typed before it is sent.': 'Cuánto se escribe un mensaje antes de enviarlo.',
  '"typing..." is shown before a message as long as a person would type it. 0: off. Default: 0.':
    'Se muestra «escribiendo...» antes de un mensaje tanto tiempo como una persona lo escribiría. 0: nunca. Por defecto: 0.',
  'But no longer than this. Default: 8000.': 'Pero no más que esto. Por defecto: 8000.',
  'The same fields for one account, by its id; they replace those of all accounts.':
    'Los mismos campos para una cuenta, por su id; sustituyen a los de todas las cuentas.',
  'Whether callers reach the card, `/rpc` and `/stream`. Default: only on loopback.':
    'Si los llamadores llegan a la tarjeta, `/rpc` y `/stream`. Por defecto: solo en loopback.',
  'Name of the NPC. Emotions, memories and trades belong to it: another name begins without any.':
    'Nombre del NPC. Sus emociones, recuerdos e intercambios le pertenecen: otro nombre empieza sin ninguno.',
  'Route whose agent answers `social` and custom tasks. Absent: the card offers neither. Its account sends what `to` asks for.':
    'Ruta cuyo agente responde a `social` y a las tareas propias. Sin ella la tarjeta no ofrece ninguna. Su cuenta envía lo que pide `to`.',
  'Where callers reach wa2ai, for the card behind a proxy. Default: the `Host` of each request.':
    'Dónde los llamadores llegan a wa2ai, para la tarjeta detrás de un proxy. Por defecto: el `Host` de cada petición.',
  'Further capabilities of the card. Their tasks go to the agent of the route.':
    'Más capacidades de la tarjeta. Sus tareas van al agente de la ruta.',
  'Further fields of `metadata` on the card.': 'Más campos de `metadata` en la tarjeta.',
  'Contracts for `duel` and `quest`. Absent: the card offers neither. Needs WA2AI_NPC_WALLET_KEY_FILE.':
    'Contratos para `duel` y `quest`. Sin ellos la tarjeta no ofrece ninguna. Necesita WA2AI_NPC_WALLET_KEY_FILE.',
  'JSON-RPC of a node of the chain. Stored encrypted; responses show its path and query as `***`, which sent back changes nothing.':
    'JSON-RPC de un nodo de la cadena. Se guarda cifrada; las respuestas muestran su ruta y consulta como `***`, que al devolverse no cambia nada.',
  'For `duel`.': 'Para `duel`.',
  'For `quest`.': 'Para `quest`.',
  'Tokens that the wallet may spend (ERC-20). The first one is the default.':
    'Tokens que la cartera puede gastar (ERC-20). El primero es el predeterminado.',
  'The most of one task.': 'Lo máximo de una tarea.',
  'Largest wager of a duel, in the smallest unit of the token.':
    'Apuesta máxima de un duelo, en la unidad más pequeña del token.',
  'Largest reward of a quest, in the smallest unit of the token.':
    'Recompensa máxima de una misión, en la unidad más pequeña del token.',
  'Gas of one task. Default: 1000000.': 'Gas de una tarea. Por defecto: 1000000.',
  'Highest fee of a unit of gas, in wei. Default: 200000000000 (200 gwei).':
    'Tarifa máxima de una unidad de gas, en wei. Por defecto: 200000000000 (200 gwei).',
  'In 24 hours the tasks of one caller pay at most so many times `wager`, `reward` and `gas`. Default: 20.':
    'En 24 horas, las tareas de quien llama pagan como máximo tantas veces `wager`, `reward` y `gas`. Por defecto: 20.',
  'Blocks on top of a block before it counts: longer reorganisations are not handled. Default: 5.':
    'Bloques encima de un bloque antes de que cuente: no se tratan reorganizaciones más largas. Por defecto: 5.',
  'First block whose events are stored. Default: the newest one when following begins.':
    'Primer bloque cuyos eventos se guardan. Por defecto: el más nuevo cuando empieza el seguimiento.',
  'Time limit of one request to the RPC server, in milliseconds. Default: 10000.':
    'Tiempo límite de una petición al servidor RPC, en milisegundos. Por defecto: 10000.',
  'Whether wa2ai answers on this face.': 'Si wa2ai responde por este protocolo.',
  'Id of a route with `config.hosted`: agents that the tool `send_message` creates run as it says. Absent: the tool creates none.':
    'Id de una ruta con `config.hosted`: los agentes que crea la herramienta `send_message` se ejecutan como dice. Sin ella la herramienta no crea ninguno.',
};
