/** What is wrong with a field, in Spanish; each follows the name of the field. `{}` is a value, and `{1}` the first of them. */
export const SPANISH_MISTAKES: Readonly<Record<string, string>> = {
  'cannot be "none" for the runtime "process", which isolates nothing':
    'no puede ser "none" con el runtime "process", que no aísla nada',
  'cannot be changed by an edit': 'no se puede cambiar con una edición',
  'cannot be combined with data': 'no se puede combinar con data',
  'cannot be shown with {}': 'no se puede mostrar con {1}',
  'cannot restrict the scope {}: its calls concern every chat, route and account':
    'no puede limitar el permiso {1}: sus llamadas conciernen a todos los chats, rutas y cuentas',
  'cannot be set for the playground, which has no connection':
    'no se puede indicar para el playground, que no tiene conexión',
  'has a % in user name or password that is not written as %25':
    'tiene un % en el usuario o la contraseña que no está escrito como %25',
  'has a colon in the user name, which HTTP proxies cannot read':
    'tiene dos puntos en el usuario, que los proxies HTTP no pueden leer',
  'has a control character in user name or password':
    'tiene un carácter de control en el usuario o la contraseña',
  'has a password without a user name': 'tiene una contraseña sin usuario',
  'has a user name or password of more than {} bytes':
    'tiene un usuario o una contraseña de más de {1} bytes',
  'is not a URL, such as http://user:password@proxy.example:3128':
    'no es una URL, como http://user:password@proxy.example:3128',
  'must begin with http://, https:// or socks5://': 'debe empezar por http://, https:// o socks5://',
  'must end after the host and port': 'debe terminar después del host y el puerto',
  'must have a port above 0': 'debe tener un puerto mayor que 0',
  'must have its user name and password; none are stored for this address':
    'debe tener su usuario y su contraseña; no hay ninguno guardado para esta dirección',
  'must name a host': 'debe nombrar un host',
  'has a name that is not allowed': 'tiene un nombre que no se permite',
  'has no quote and no mention': 'no tiene ni cita ni mención',
  'is for one chat: it is always checked before a route for *':
    'es para un chat: siempre se comprueba antes que una ruta para *',
  'is in the file twice': 'está dos veces en el archivo',
  'is masked (***) and no value is stored; send its value':
    'está oculto (***) y no hay ningún valor guardado; envíe su valor',
  'is missing': 'falta',
  'is missing; a group needs it': 'falta; un grupo lo necesita',
  'is missing; a route of a file needs an id or a name':
    'falta; una ruta de un archivo necesita un id o un nombre',
  'is missing; name the chat, or the person as from': 'falta; indique el chat, o la persona como from',
  'is missing; pairing by code needs it': 'falta; la vinculación por código lo necesita',
  'is missing; send data or url': 'falta; envíe data o url',
  'is missing; send text, media, or both': 'falta; envíe text, media o ambos',
  'is needed with contracts.arena': 'es necesario con contracts.arena',
  'is needed with contracts.quest': 'es necesario con contracts.quest',
  'is no route': 'no es una ruta',
  'is not YAML: {}': 'no es YAML: {1}',
  'is not a WhatsApp account of this service': 'no es una cuenta de WhatsApp de este servicio',
  'is not a channelId: write a number with its country code, <digits>@lid or <id>@g.us':
    'no es un channelId: escriba un número con su código de país, <dígitos>@lid o <id>@g.us',
  'is not a known field': 'no es un campo conocido',
  'is not a known word': 'no es una palabra conocida',
  'is not a person of the chat': 'no es una persona del chat',
  'is not allowed: {}': 'no se permite: {1}',
  'is not the id of a message of the chat': 'no es el id de un mensaje del chat',
  'is not the id of a message of this person': 'no es el id de un mensaje de esta persona',
  'is not the id of a route': 'no es el id de una ruta',
  'is refused: {}': 'se rechaza: {1}',
  'is required for the runtime "docker"': 'es obligatorio con el runtime "docker"',
  'is required for the runtime "process"': 'es obligatorio con el runtime "process"',
  'is that of {} routes; give the id': 'es el de {1} rutas; indique el id',
  'is there twice': 'está dos veces',
  'is your own: use PUT /api/session/password, which needs the current one':
    'es la suya: use PUT /api/session/password, que necesita la actual',
  'may wait longer than {} seconds; run it with wa2ai simulate':
    'puede esperar más de {1} segundos; ejecútelo con wa2ai simulate',
  'must be *, @<user name>, {}': 'debe ser *, @<nombre de usuario>, {1}',
  'must be 1 to 200 printable ASCII characters without spaces':
    'debe tener de 1 a 200 caracteres ASCII imprimibles sin espacios',
  'must be * or entity tags in quotes, as ETag has them, separated by commas':
    'debe ser * o etiquetas de entidad entre comillas, como las de ETag, separadas por comas',
  'must be `next` of the page before': 'debe ser `next` de la página anterior',
  'must be a JSON object': 'debe ser un objeto JSON',
  'must be a URL such as https://npc.example.com': 'debe ser una URL como https://npc.example.com',
  'must be a URL that begins with http:// or https://': 'debe ser una URL que empiece por http:// o https://',
  'must be a capability such as social or custom:crafting':
    'debe ser una capacidad como social o custom:crafting',
  'must be a host in small letters, such as cdn.example.com':
    'debe ser un servidor en minúsculas, como cdn.example.com',
  'must be a language of two letters such as es, en or pt':
    'debe ser un idioma de dos letras como es, en o pt',
  'must be a name such as custom:crafting': 'debe ser un nombre como custom:crafting',
  'must be a path such as data.answer': 'debe ser una ruta como data.answer',
  'must be a path without ? and #': 'debe ser una ruta sin ? ni #',
  'must be a phone number, a LID or a group id': 'debe ser un número de teléfono, un LID o el id de un grupo',
  'must be a regular expression': 'debe ser una expresión regular',
  'must be a route with config.hosted': 'debe ser una ruta con config.hosted',
  'must be a template, or an object with one of image, audio, document':
    'debe ser una plantilla, o un objeto con uno de image, audio, document',
  'must be a time in ISO 8601, such as 2026-01-31T12:00:00Z':
    'debe ser una hora en ISO 8601, como 2026-01-31T12:00:00Z',
  'must be a time in ISO 8601, such as 2027-01-31T12:00:00Z':
    'debe ser una hora en ISO 8601, como 2027-01-31T12:00:00Z',
  'must be a time such as 04:00': 'debe ser una hora como 04:00',
  'must be a time such as 21:00': 'debe ser una hora como 21:00',
  'must be a time zone such as Europe/Madrid': 'debe ser una zona horaria como Europe/Madrid',
  'must be a whole number from {} to {}': 'debe ser un número entero de {1} a {2}',
  'must be a {}': 'debe ser {1}',
  'must be an Ethereum address': 'debe ser una dirección de Ethereum',
  'must be an Ethereum address: 0x and 40 hexadecimal digits':
    'debe ser una dirección de Ethereum: 0x y 40 dígitos hexadecimales',
  'must be a file of a form': 'debe ser un archivo de un formulario',
  'must be the path of a file in the folder of the agent, without links':
    'debe ser la ruta de un archivo en la carpeta del agente, sin enlaces',
  'must be an absolute path': 'debe ser una ruta absoluta',
  'must be an amount in digits, such as 1000000000000000000':
    'debe ser una cantidad en dígitos, como 1000000000000000000',
  'must be an amount in wei, a whole number in digits':
    'debe ser una cantidad en wei, un número entero en dígitos',
  'must be an array of signatures or JSON ABI entries, or the http:// or https:// URL of a manifest':
    'debe ser una lista de firmas o entradas de una ABI en JSON, o la URL http:// o https:// de un manifiesto',
  'must be an array or an object': 'debe ser una lista o un objeto',
  'must be an http:// or https:// URL': 'debe ser una URL http:// o https://',
  'must be an object or an array': 'debe ser un objeto o una lista',
  'must be an object with a url and perhaps a fileName, or a file of a form':
    'debe ser un objeto con url y quizá fileName, o un archivo de un formulario',
  'must be an object with a url, or a file of a form':
    'debe ser un objeto con url, o un archivo de un formulario',
  'must be at least {}': 'debe ser al menos {1}',
  'must be at most {}': 'debe ser como máximo {1}',
  'must be base64': 'debe ser base64',
  'must be given, or routeId; one of them': 'es obligatorio, o routeId; uno de los dos',
  'must be in the future': 'debe estar en el futuro',
  'must be one chat: @<user name>, {}': 'debe ser un chat: @<nombre de usuario>, {1}',
  'must be one chat: {}': 'debe ser un chat: {1}',
  'must be one emoji such as 👀': 'debe ser un emoji como 👀',
  'must be one person: a phone number with its country code or a JID':
    'debe ser una persona: un número de teléfono con su código de país o un JID',
  'must be one word of at most 32 letters, digits, - and _':
    'debe ser una palabra de como máximo 32 letras, dígitos, - y _',
  'must be owner: there is no user yet': 'debe ser owner: todavía no hay usuarios',
  'must be the id of a route': 'debe ser el id de una ruta',
  'must be the id of a row': 'debe ser el id de una fila',
  'must be the name of an image such as registry.example/agent:1':
    'debe ser el nombre de una imagen como registry.example/agent:1',
  'must be the name of an image such as wa2ai-shell:1': 'debe ser el nombre de una imagen como wa2ai-shell:1',
  'must be the number of a version': 'debe ser el número de una versión',
  'must be the whole URL, because the address has changed':
    'debe ser la URL entera, porque la dirección ha cambiado',
  'must be two different times such as 09:00-18:00; 22:00-06:00 ends on the next day':
    'deben ser dos horas distintas como 09:00-18:00; 22:00-06:00 termina al día siguiente',
  "must be up to 200 letters, digits, '.', ':', '_' and '-'":
    "debe tener hasta 200 letras, dígitos, '.', ':', '_' y '-'",
  "must be up to 63 lower-case letters, digits, '.', '_' and '-'":
    "debe tener hasta 63 letras minúsculas, dígitos, '.', '_' y '-'",
  'must be {}': 'debe ser {1}',
  'must begin with / and contain no spaces': 'debe empezar por / y no tener espacios',
  'must begin with a letter or digit and have at most 64 of: letters, digits, . _ @ -':
    'debe empezar por una letra o un dígito y tener como máximo 64 de: letras, dígitos, . _ @ -',
  'must change something': 'debe cambiar algo',
  'must contain a text, a file or both, or else a reaction, or else a deletion':
    'debe contener un texto, un archivo o ambos, o si no una reacción, o si no una eliminación',
  'must contain at least one channelId': 'debe contener al menos un channelId',
  'must contain at least one function': 'debe contener al menos una función',
  'must contain at most 10 MB': 'debe contener como máximo 10 MB',
  'must contain exactly one of {}': 'debe contener exactamente uno de {1}',
  'must contain printable ASCII characters only': 'debe contener solo caracteres ASCII imprimibles',
  'must contain printable ASCII characters without spaces only':
    'debe contener solo caracteres ASCII imprimibles sin espacios',
  'must contain the bytes of a file': 'debe contener los bytes de un archivo',
  'must contain the program': 'debe contener el programa',
  'must differ from each other': 'deben ser distintos',
  'must have arena, quest or both': 'debe tener arena, quest o ambos',
  'must have at least 16 characters': 'debe tener al menos 16 caracteres',
  'must have at least 8 characters': 'debe tener al menos 8 caracteres',
  'must have at least {} characters': 'debe tener al menos {1} caracteres',
  'must have at least {} different characters': 'debe tener al menos {1} caracteres distintos',
  'must have at most {} characters': 'debe tener como máximo {1} caracteres',
  'must have at most {} characters as a caption': 'debe tener como máximo {1} caracteres como pie',
  'must have at most {} entries': 'debe tener como máximo {1} entradas',
  'must have different names': 'deben tener nombres distintos',
  'must have either key, or name and password': 'debe tener key, o name y password',
  'must have exactly one of {}': 'debe tener exactamente uno de {1}',
  'must name a chat': 'debe indicar un chat',
  'must name an account': 'debe indicar una cuenta',
  'must name a person: a shell is never open to everybody':
    'debe indicar una persona: una terminal nunca está abierta a todo el mundo',
  'must name a route': 'debe indicar una ruta',
  'must name a scope': 'debe indicar un permiso',
  'must name an event': 'debe indicar un evento',
  'must name one chat: a {} is never open to everybody':
    'debe indicar un chat: un agente {1} nunca está abierto a todo el mundo',
  'must not be above the number of options': 'no debe superar el número de opciones',
  'must not be blank': 'no debe estar en blanco',
  'must not be nested deeper than {} levels': 'no debe tener más de {1} niveles',
  'must not be the zero address': 'no debe ser la dirección cero',
  "must not begin with 'r-', as the agents of routes do":
    "no debe empezar por 'r-', como los agentes de las rutas",
  'must not consist of the name': 'no debe consistir en el nombre',
  'must not contain NUL characters or invalid Unicode':
    'no debe contener caracteres NUL ni Unicode no válido',
  'must not contain PORT, HOST, DATA_DIR, AGENT_TOKEN_FILE or AGENT_ID, which wa2ai sets':
    'no debe contener PORT, HOST, DATA_DIR, AGENT_TOKEN_FILE ni AGENT_ID, que define wa2ai',
  'must not contain a user name or password; use the headers of the agent kind':
    'no debe contener un nombre de usuario ni una contraseña; use las cabeceras del tipo de agente',
  'needs WA2AI_NPC_WALLET_KEY_FILE: the key of the wallet, on every node':
    'necesita WA2AI_NPC_WALLET_KEY_FILE: la clave de la cartera, en todos los nodos',
  'needs a text, and has no file': 'necesita un texto, y no lleva archivo',
  'needs routeId as well': 'necesita también routeId',
  'needs {} in the text': 'necesita {1} en el texto',
};
