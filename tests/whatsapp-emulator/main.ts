import { parseArgs } from 'node:util';
import { ControlApi } from './control-api.ts';
import { DEFAULT_ACCOUNT } from './control-endpoints.ts';
import { WhatsAppEmulator } from './emulator.ts';

const USAGE = 'usage: npm run emulator -- [--port N] [--control-port N]';

const options = readOptions();
// libsignal prints sessions, private keys included
console.info = () => undefined;
console.warn = () => undefined;
const emulator = await WhatsAppEmulator.start({ port: options.port, log: (line) => console.log(line) });
const control = await ControlApi.start(emulator, options.controlPort);
console.log(
  [
    'The WhatsApp emulator runs. Start wa2ai beside it with:',
    '',
    `  WA2AI_WHATSAPP_WS_URL=${emulator.url} \\`,
    `  WA2AI_WHATSAPP_MEDIA_HOST=${emulator.mediaHost.hostname} NODE_EXTRA_CA_CERTS=${emulator.mediaHost.caFile} npm start`,
    '',
    `Control: ${control.url}   (GET / explains it)`,
    '',
    `  curl -s ${control.url}/phone/enter-code -H 'content-type: application/json' -d '{"code":"ABCD2345","phone":"${DEFAULT_ACCOUNT}"}'`,
    `  curl -s ${control.url}/people -H 'content-type: application/json' -d '{"phone":"34600111111","name":"Maria"}'`,
    `  curl -s ${control.url}/people/34600111111/say -H 'content-type: application/json' -d '{"to":"${DEFAULT_ACCOUNT}","text":"hola"}'`,
    `  curl -sN ${control.url}/transcript/stream`,
    '',
    'Ctrl-C ends it.',
  ].join('\n'),
);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    void Promise.all([control.stop(), emulator.stop()]).then(() => process.exit(0));
  });
}

function readOptions(): { port: number; controlPort: number } {
  try {
    const { values } = parseArgs({
      options: {
        port: { type: 'string', default: '0' },
        'control-port': { type: 'string', default: '0' },
        help: { type: 'boolean' },
      },
    });
    if (values.help) leave(USAGE, 0);
    return { port: portOf(values.port), controlPort: portOf(values['control-port']) };
  } catch (error) {
    return leave(`${error instanceof Error ? error.message : error}\n${USAGE}`, 2);
  }
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new Error(`"${text}" is no port`);
  return port;
}

function leave(text: string, code: number): never {
  console.log(text);
  process.exit(code);
}
