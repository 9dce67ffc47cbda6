import { useQuery } from '../../api/use-query.ts';
import { texts } from '../../app/language.ts';
import { hrefOf } from '../../app/location.ts';
import { Icon } from '../../components/icon.tsx';
import { Card, PageFrame } from '../../components/page.tsx';
import { Loaded } from '../../components/states.tsx';
import './start.css';
import { Health } from './health.tsx';

const useText = texts(
  {
    title: 'Start',
    steps: 'Next steps',
    done: 'done',
    open: 'open',
    pair: 'Link a phone',
    pairHint: 'Scan a QR code with the WhatsApp of the number that should answer.',
    agent: 'Add an agent',
    agentHint: 'A route says which agent answers which chat.',
    play: 'Try it in the playground',
    playHint: 'Without a phone: an invented person writes to your agent, or to the built-in echo agent.',
    hello: 'Get the first answer',
    helloHint: 'Write to the linked number from another phone.',
  },
  {
    title: 'Inicio',
    steps: 'Próximos pasos',
    done: 'hecho',
    open: 'pendiente',
    pair: 'Vincula un teléfono',
    pairHint: 'Escanea un código QR con el WhatsApp del número que debe responder.',
    agent: 'Añade un agente',
    agentHint: 'Una ruta dice qué agente responde en qué chat.',
    play: 'Pruebe sin teléfono: área de pruebas',
    playHint: 'En el área de pruebas una persona inventada escribe a su agente, o al agente eco incluido.',
    hello: 'Recibe la primera respuesta',
    helloHint: 'Escribe al número vinculado desde otro teléfono.',
  },
);

/** What to do until the first answered message, then the health of the service. */
export function StartPage() {
  const text = useText();
  const accounts = useQuery('GET /api/accounts', {}, ['account']);
  const routes = useQuery('GET /api/routes', { query: { limit: 1 } }, ['route']);
  const answered = useQuery('GET /api/messages', { query: { limit: 1, state: 'answered' } }, ['turn']);
  return (
    <PageFrame title={text.title}>
      <Loaded query={accounts}>
        {({ data }) => {
          const steps = [
            {
              path: '/playground',
              title: text.play,
              hint: text.playHint,
              isDone: data.some(({ provider }) => provider === 'playground'),
            },
            {
              path: '/accounts',
              title: text.pair,
              hint: text.pairHint,
              isDone: data.some(({ isConnected }) => isConnected),
            },
            {
              path: '/routes',
              title: text.agent,
              hint: text.agentHint,
              isDone: (routes.data?.data.length ?? 0) > 0,
            },
            {
              path: '/chats',
              title: text.hello,
              hint: text.helloHint,
              isDone: (answered.data?.data.length ?? 0) > 0,
            },
          ];
          const isReady = routes.data !== undefined && answered.data !== undefined;
          const isNew = isReady && steps.some(({ isDone }) => !isDone);
          return (
            <>
              {isNew && (
                <Card title={text.steps}>
                  <ol class="steps">
                    {steps.map(({ path, title, hint, isDone }, index) => (
                      <li key={path} class={isDone ? 'done' : ''}>
                        <span class="step-mark" aria-hidden="true">
                          {isDone ? <Icon name="check" /> : index + 1}
                        </span>
                        <div>
                          <a href={hrefOf(path)}>{title}</a>
                          <span class="hidden"> ({isDone ? text.done : text.open})</span>
                          <p class="faint">{hint}</p>
                        </div>
                      </li>
                    ))}
                  </ol>
                </Card>
              )}
              <Health accounts={data} />
            </>
          );
        }}
      </Loaded>
    </PageFrame>
  );
}
