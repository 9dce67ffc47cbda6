import { useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { hrefOf } from '../../app/location.ts';
import { Button } from '../../components/button.tsx';
import { Form, TextField } from '../../components/form.tsx';
import { Card, PageFrame } from '../../components/page.tsx';
import type { PlayChat } from './people.ts';
import { createChat, createRoute, echoRoute } from './play-chat.ts';
import { useText } from './texts.ts';

/** The way to the first answer: the echo agent, an agent by its address, or a route that exists. */
export function FirstAnswer(props: {
  hasChats: boolean;
  onReady(chat: PlayChat): void;
  onChooseRoute(): void;
}) {
  const t = useText();
  const [address, setAddress] = useState('');
  const [found, setFound] = useState<Schemas['AgentInspection']>();
  const talk = async (routeId: string) => {
    props.onReady(await createChat({ kind: 'person', name: 'Ana', routeId }));
  };
  const echo = useAction(async () => talk(await echoRoute()));
  const inspect = useAction(async () => {
    setFound(undefined);
    const { data } = await call('POST /api/routes/inspect', { body: { agentEndpoint: address.trim() } });
    setFound(data);
  });
  const use = useAction(async (route: Record<string, unknown>, kind: string) =>
    talk(await createRoute({ ...route, name: `${kind} ${new URL(address).host}` })),
  );
  const { route } = found ?? {};
  return (
    <div class="play-start">
      <PageFrame title={t('title')} lead={props.hasChats ? t('choose') : t('lead')}>
        <Card title={t(props.hasChats ? 'another' : 'first')}>
          <p class="faint">{t('firstHint')}</p>
          <div class="play-way">
            <Button kind="main" icon="play" isBusy={echo.isRunning} onClick={() => void echo.run()}>
              {t('echo')}
            </Button>
            <p class="faint">{t('echoHint')}</p>
          </div>
          <Form
            onSubmit={() => void inspect.run()}
            {...((inspect.problem ?? use.problem) && { problem: inspect.problem ?? use.problem })}
            actions={
              <Button type="submit" isBusy={inspect.isRunning} isDisabled={address.trim() === ''}>
                {t('detect')}
              </Button>
            }
          >
            <TextField
              type="url"
              label={t('address')}
              hint={t('addressHint')}
              placeholder="http://localhost:8000"
              value={address}
              onInput={(value) => {
                setAddress(value);
                setFound(undefined);
              }}
            />
          </Form>
          {found && (
            <div class="notice" role="status">
              <p>{t('found', { kind: found.kind, answer: found.answer.replace(/\.$/, '') })}</p>
              {found.capabilities.length > 0 && (
                <p>{t('capabilities', { list: found.capabilities.slice(0, 10).join(', ') })}</p>
              )}
              {route ? (
                <Button kind="main" isBusy={use.isRunning} onClick={() => void use.run(route, found.kind)}>
                  {t('useAgent')}
                </Button>
              ) : (
                <p>
                  {t('needsMore')} <a href={hrefOf('/routes')}>{t('toRoutes')}</a>
                </p>
              )}
            </div>
          )}
          <p class="play-existing">
            <Button icon="route" onClick={props.onChooseRoute}>
              {t('useRoute')}
            </Button>
          </p>
        </Card>
      </PageFrame>
    </div>
  );
}
