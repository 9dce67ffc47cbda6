// The reference of the bench: the smallest bot on Baileys. It keeps its keys in memory, asks the agent and answers. On
// SIGTERM it writes the keys to a file, which its next start reads; nothing else is stored. Prints `qr <text>`.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import makeWASocket, {
  type AuthenticationState,
  BufferJSON,
  initAuthCreds,
  type SignalDataTypeMap,
} from '@whiskeysockets/baileys';
import { pino } from 'pino';

const [, , waWebSocketUrl, agentUrl, file = ''] = process.argv;
console.info = () => undefined; // libsignal prints sessions
const kept = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8'), BufferJSON.reviver) : undefined;
const store = new Map<string, unknown>(kept?.keys);
const creds: AuthenticationState['creds'] = kept?.creds ?? initAuthCreds();
process.on('SIGTERM', () => {
  writeFileSync(file, JSON.stringify({ creds, keys: [...store] }, BufferJSON.replacer));
  process.exit(0);
});
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
