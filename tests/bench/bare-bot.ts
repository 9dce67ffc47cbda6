// The reference of the bench: a minimal bot on Baileys. It keeps its keys in memory, calls the agent and
// replies; it stores nothing. Prints `qr <text>` and `open`.
import makeWASocket, {
  type AuthenticationState,
  initAuthCreds,
  type SignalDataTypeMap,
} from '@whiskeysockets/baileys';
import { pino } from 'pino';

const [, , waWebSocketUrl, agentUrl] = process.argv;
console.info = () => undefined; // libsignal prints sessions
const store = new Map<string, unknown>();
const creds = initAuthCreds();
const keys: AuthenticationState['keys'] = {
  get: async (type, ids) =>
    Object.fromEntries(ids.map((id) => [id, store.get(`${type}:${id}`) as SignalDataTypeMap[typeof type]])),
  set: async (data) => {
    for (const [type, values] of Object.entries(data)) {
      for (const [id, value] of Object.entries(values)) store.set(`${type}:${id}`, value ?? undefined);
    }
  },
};

function connect(): void {
  const socket = makeWASocket({
    auth: { creds, keys },
    waWebSocketUrl,
    logger: pino({ level: 'silent' }),
    shouldSyncHistoryMessage: () => false,
  });
  socket.ev.on('creds.update', (update) => Object.assign(creds, update));
  socket.ev.on('connection.update', ({ qr, connection }) => {
    if (qr) console.log(`qr ${qr}`);
    if (connection === 'open') console.log('open');
    if (connection === 'close') connect();
  });
  socket.ev.on('messages.upsert', ({ messages, type }) => {
    for (const { key, message } of type === 'notify' ? messages : []) {
      const text = message?.conversation ?? message?.extendedTextMessage?.text;
      if (!text || key.fromMe || !key.remoteJid) continue;
      const user = key.remoteJid.split('@')[0];
      const body = {
        app_name: 'test_agent',
        user_id: user,
        session_id: user,
        new_message: { parts: [{ text }] },
      };
      fetch(`${agentUrl}/run`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
        .then(
          (response) => response.json() as Promise<Array<{ content: { parts: Array<{ text: string }> } }>>,
        )
        .then((events) =>
          socket.sendMessage(key.remoteJid as string, { text: events.at(-1)?.content.parts[0]?.text ?? '' }),
        )
        .catch(() => undefined);
    }
  });
}
connect();
