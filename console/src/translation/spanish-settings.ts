/** Meanings of the settings of the service in Spanish, by their English meaning. */
export const SPANISH_SETTINGS: Readonly<Record<string, string>> = {
  'Address that the API and the pages listen on. Every address except loopback needs WA2AI_API_KEY.':
    'Dirección en la que escuchan la API y las páginas. Toda dirección que no sea loopback necesita WA2AI_API_KEY.',
  'Port of the API and the pages. 0 chooses a free port.':
    'Puerto de la API y de las páginas. 0 elige un puerto libre.',
  'URL at which agents reach wa2ai, the same on all nodes: webhooks get links to the files of people. Without it they get no links.':
    'URL en la que los agentes alcanzan wa2ai, la misma en todos los nodos: los webhooks reciben enlaces a los archivos de las personas. Sin ella no reciben enlaces.',
  'Admin key. Callers send it as `X-API-Key` or `Authorization: Bearer`.':
    'Clave de administración. Se envía como `X-API-Key` o `Authorization: Bearer`.',
  'File that contains the admin key, instead of WA2AI_API_KEY; for secrets of Docker and Kubernetes.':
    'Archivo que contiene la clave de administración, en lugar de WA2AI_API_KEY; para los secretos de Docker y Kubernetes.',
  'Only routes of this environment match.': 'Solo se aplican las rutas de este entorno.',
  'Folder of the embedded database.': 'Carpeta de la base de datos integrada.',
  'Socket file by which `wa2ai` on the command line reaches the service without a key, with all rights. Only the user of the service can open it. `off` switches it off.':
    'Archivo de socket por el que `wa2ai` en la línea de órdenes alcanza el servicio sin clave y con todos los derechos. Solo puede abrirlo el usuario del servicio. `off` lo desactiva.',
  'PostgreSQL to use instead of the embedded one: the server itself, or a pooler in session mode.':
    'PostgreSQL que se usa en lugar del integrado: el servidor mismo, o un pooler en modo de sesión.',
  'File that contains the password for a DATABASE_URL without one.':
    'Archivo que contiene la contraseña de una DATABASE_URL sin contraseña.',
  'File with the keys that encrypt secrets in the database: one key a line, the first one encrypts, all decrypt. Create a key with `openssl rand -base64 32`. Without it secrets in the database of DATABASE_URL are not encrypted.':
    'Archivo con las claves que cifran los secretos de la base de datos: una clave por línea, la primera cifra, todas descifran. Cree una clave con `openssl rand -base64 32`. Sin él, los secretos de la base de datos de DATABASE_URL no se cifran.',
  'Name of this node, different on each node.': 'Nombre de este nodo, distinto en cada nodo.',
  'Time after which another node takes the WhatsApp accounts of a node that hangs, in milliseconds. The same on all nodes.':
    'Tiempo tras el cual otro nodo toma las cuentas de WhatsApp de un nodo colgado, en milisegundos. El mismo en todos los nodos.',
  'Name of the WhatsApp account that exists from the first start. `POST /api/accounts` adds more.':
    'Nombre de la cuenta de WhatsApp que existe desde el primer inicio. `POST /api/accounts` añade más.',
  'Phone number of the account, to link it with an eight-letter code instead of a QR code.':
    'Número de teléfono de la cuenta, para vincularla con un código de ocho letras en lugar de un código QR.',
  'Maximum age of a message that is answered, in milliseconds. Older messages are only stored.':
    'Edad máxima de un mensaje que se responde, en milisegundos. Los más antiguos solo se guardan.',
  'Time after which a reply that WhatsApp accepted and did not acknowledge is sent again with the same id, in milliseconds.':
    'Tiempo tras el cual se envía otra vez, con el mismo id, una respuesta que WhatsApp aceptó y no confirmó, en milisegundos.',
  "Time limit for loading a person's file from WhatsApp, in milliseconds.":
    'Tiempo límite para cargar de WhatsApp el archivo de una persona, en milisegundos.',
  'Program that converts sounds to voice notes. Without it only Opus in OGG can be a voice note.':
    'Programa que convierte sonidos en notas de voz. Sin él solo puede ser nota de voz un sonido Opus en OGG.',
  'Number of messages in a row that look automatic before the chat counts as an auto-reply loop and is not answered. 0 switches this off.':
    'Número de mensajes seguidos con aspecto automático a partir del cual el chat cuenta como bucle de respuestas automáticas y no se responde. 0 lo desactiva.',
  'A message that arrives sooner than this after our reply can look automatic, in milliseconds.':
    'Un mensaje que llega antes de este tiempo tras nuestra respuesta puede parecer automático, en milisegundos.',
  'WhatsApp Web version to report to WhatsApp. `auto`: the one in Baileys, or a newer one that WhatsApp serves; looked up once a day and when WhatsApp refuses a version. `built-in`: the one in Baileys; nothing is looked up.':
    'Versión de WhatsApp Web que se comunica a WhatsApp. `auto`: la de Baileys, o una más nueva que WhatsApp sirve; se consulta una vez al día y cuando WhatsApp rechaza una versión. `built-in`: la de Baileys; no se consulta nada.',
  'Service worker of WhatsApp Web, whose `client_revision` is the current version.':
    'Service worker de WhatsApp Web, cuyo `client_revision` es la versión actual.',
  'Time limit of one attempt, in milliseconds.': 'Tiempo límite de un intento, en milisegundos.',
  'Minimum number of attempts per message when the agent rejects it.':
    'Número mínimo de intentos por mensaje cuando el agente lo rechaza.',
  'Keep retrying an unavailable agent (no connection, 429, 502, 503) for this long per message, in milliseconds, even after WA2AI_AGENT_ATTEMPTS. The chat waits. 0: only the attempts.':
    'Durante cuánto tiempo por mensaje se reintenta con un agente no disponible (sin conexión, 429, 502, 503), en milisegundos, también después de WA2AI_AGENT_ATTEMPTS. El chat espera. 0: solo los intentos.',
  'Addresses that agents may be at. `private`: all except cloud metadata and link-local addresses. `public`: only public addresses. `any`: every address. Names are checked after they are resolved. Hosted agents, which wa2ai itself starts, are always reached.':
    'Direcciones en las que pueden estar los agentes. `private`: todas salvo los metadatos de la nube y las de enlace local. `public`: solo direcciones públicas. `any`: cualquier dirección. Los nombres se comprueban después de resolverlos. Los agentes alojados, que inicia wa2ai mismo, siempre se alcanzan.',
  'Whether the requests to agents and their answers are stored, for the trace of a message: without secrets, at most 8,192 characters of each body. Costs about 1 KB of disk for each message.':
    'Si se guardan las peticiones a los agentes y sus respuestas para la traza de un mensaje: sin secretos, como máximo 8.192 caracteres de cada cuerpo. Cuesta cerca de 1 KB de disco por mensaje.',
  'File that contains the private key of the wallet for `duel` and `quest` of the NPC face. The same on all nodes.':
    'Archivo que contiene la clave privada de la cartera para `duel` y `quest` de la interfaz NPC. El mismo en todos los nodos.',
  'Socket of the Docker or podman engine that runs agents (`config.hosted`).':
    'Socket del motor Docker o podman que ejecuta los agentes (`config.hosted`).',
  'Number of hosted agents that may run on this node. For one more, the idle one that was used longest ago stops.':
    'Número de agentes alojados que pueden ejecutarse en este nodo. Para uno más se detiene el inactivo que más tiempo lleva sin uso.',
  'Whether hosted agents may run as processes of this machine (`runtime: process`). Their programs can do what wa2ai can do: read its data key, change users and keys. Where wa2ai is root, each agent runs as a separate user without rights.':
    'Si los agentes alojados pueden ejecutarse como procesos de esta máquina (`runtime: process`). Sus programas pueden hacer lo que puede wa2ai: leer su clave de datos, cambiar usuarios y claves. Si wa2ai es root, cada agente se ejecuta como un usuario propio sin derechos.',
  'Largest data folder of a hosted agent, in MB; each file, folder and link counts with at least 4 KiB. With more it stops within a minute and does not start.':
    'Carpeta de datos más grande de un agente alojado, en MB; cada archivo, carpeta y enlace cuenta al menos 4 KiB. Con más, el agente se detiene en un minuto y no se inicia.',
  'Time that a started agent may take until it answers HTTP, in milliseconds.':
    'Tiempo que puede tardar un agente iniciado en responder por HTTP, en milisegundos.',
  'Whether containers of agents stop with wa2ai. Those that continue are adopted by the next start. Processes always stop.':
    'Si los contenedores de los agentes se detienen con wa2ai. Los que continúan los adopta el siguiente inicio. Los procesos siempre se detienen.',
  'Begin of the addresses of agents: each gets a network of 16 addresses from it.':
    'Comienzo de las direcciones de los agentes: cada uno recibe una red de 16 direcciones.',
  'Networks that containers of agents reach besides the internet. `any`: all, and this machine.':
    'Redes a las que llegan los contenedores de los agentes además de internet. `any`: todas, y esta máquina.',
  'Label for the folders of agents on machines with SELinux.':
    'Etiqueta para las carpetas de los agentes en máquinas con SELinux.',
  "When wa2ai runs in a container: the path of WA2AI_DATA_DIR on the engine's machine, which mounts it into agents.":
    'Cuando wa2ai se ejecuta en un contenedor: la ruta de WA2AI_DATA_DIR en la máquina del motor, que la monta en los agentes.',
  'When wa2ai runs in a container: its name. It joins the networks of its agents to reach them.':
    'Cuando wa2ai se ejecuta en un contenedor: su nombre. Se une a las redes de sus agentes para alcanzarlos.',
  'Where new files of replies and of people are stored. Each file is read from where it was stored. The same on all nodes.':
    'Dónde se guardan los archivos nuevos de las respuestas y de las personas. Cada archivo se lee de donde se guardó. El mismo en todos los nodos.',
  'Whether a file of a person is stored when it is first loaded, for an agent, a transcript or the API. `not-stored`: it is loaded from WhatsApp each time.':
    'Si el archivo de una persona se guarda cuando se carga por primera vez, para un agente, una transcripción o la API. `not-stored`: se carga cada vez de WhatsApp.',
  'Folder of the store `disk`. With DATABASE_URL it is required, and all nodes must share the folder.':
    'Carpeta del almacén `disk`. Con DATABASE_URL es obligatoria, y todos los nodos deben compartirla.',
  'Size of the store `disk` in MB. When it is nearly full, the oldest files of people and of delivered replies are removed.':
    'Tamaño del almacén `disk` en MB. Cuando está casi lleno se eliminan los archivos más antiguos de las personas y de las respuestas entregadas.',
  'URL of a server with the API of S3, such as `https://s3.eu-west-1.amazonaws.com`.':
    'URL de un servidor con la API de S3, por ejemplo `https://s3.eu-west-1.amazonaws.com`.',
  'Bucket for the files. It must exist.': 'Bucket para los archivos. Debe existir.',
  'Region of the bucket.': 'Región del bucket.',
  'Begin of the names of the files in the bucket.': 'Comienzo de los nombres de los archivos en el bucket.',
  'Id of the key of the S3 server.': 'Id de la clave del servidor S3.',
  'Secret of that key.': 'Secreto de esa clave.',
  'File that contains the secret, instead of WA2AI_MEDIA_S3_SECRET_KEY.':
    'Archivo que contiene el secreto, en lugar de WA2AI_MEDIA_S3_SECRET_KEY.',
  'Days to keep texts and traces of finished messages. The rows stay, so that nothing is answered twice.':
    'Días que se conservan los textos y las trazas de los mensajes terminados. Las filas se conservan, para que nada se responda dos veces.',
  'Days to keep replies that WhatsApp acknowledged. A phone may request one again for two weeks.':
    'Días que se conservan las respuestas que WhatsApp confirmó. Un teléfono puede pedir una otra vez durante dos semanas.',
  'Days to keep files of people, and those of replies that WhatsApp acknowledged, in every store.':
    'Días que se conservan los archivos de las personas y los de las respuestas que WhatsApp confirmó, en todos los almacenes.',
  'Days to keep the requests to agents and their answers; see `WA2AI_EXCHANGES`. They are never kept longer than texts.':
    'Días que se conservan las peticiones a los agentes y sus respuestas; vea `WA2AI_EXCHANGES`. Nunca se conservan más que los textos.',
  'Days to keep dead letters.': 'Días que se conservan los mensajes fallidos.',
  'Days to keep records of finished work of the engine.':
    'Días que se conservan los registros de trabajo terminado del motor.',
  'Days to keep stanzas that a crash left in the journal and whose messages are stored.':
    'Días que se conservan las stanzas que una caída dejó en el diario y cuyos mensajes están guardados.',
  'Days to keep WhatsApp keys from before a logout.':
    'Días que se conservan las claves de WhatsApp anteriores a un cierre de sesión.',
  'Days to keep the delivery log of webhooks, with events that could not be delivered.':
    'Días que se conserva el registro de entregas de los webhooks, con los eventos que no se pudieron entregar.',
  'Days to keep entries of the audit log.': 'Días que se conservan las entradas del registro de auditoría.',
  'Least severe level that is logged. `trace` contains message texts.':
    'Nivel mínimo de gravedad que se registra. `trace` contiene textos de mensajes.',
  'Format of log lines.': 'Formato de las líneas del registro.',
  "WebSocket server to use instead of WhatsApp's: a test server or a proxy.":
    'Servidor WebSocket que se usa en lugar del de WhatsApp: un servidor de pruebas o un proxy.',
  "Host to load people's files from instead of WhatsApp's, over https.":
    'Servidor del que se cargan los archivos de las personas en lugar del de WhatsApp, por https.',
  'Point at which the process kills itself, for crash tests: `after-journal:3` at the third pass of that point. Needs a WhatsApp test server on this machine.':
    'Punto en el que el proceso se termina a sí mismo, para pruebas de caídas: `after-journal:3` en la tercera pasada por ese punto. Necesita un servidor de pruebas de WhatsApp en esta máquina.',
};
