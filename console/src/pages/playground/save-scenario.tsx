import { useEffect, useState } from 'preact/hooks';
import { call } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { hrefOf } from '../../app/location.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Form, TextArea } from '../../components/form.tsx';
import type { Message } from '../../conversation/chat-types.ts';
import { downloadText } from './download-text.ts';
import type { PlayChat } from './people.ts';
import { fileUrlOf } from './play-chat.ts';
import { scenarioOf } from './scenario-of.ts';
import { useText } from './texts.ts';
import { base64 } from './write.ts';

/** A dialog that shows a conversation as a scenario, to download or to save. */
export function SaveScenario(props: { chat: PlayChat; messages: readonly Message[]; onClose(): void }) {
  const { chat, messages, onClose } = props;
  const t = useText();
  const [yaml, setYaml] = useState('');
  useEffect(() => {
    void scenarioOf(chat, messages, (message) => loadFile(chat, message)).then(setYaml);
  }, []);
  const save = useAction(async () => {
    await call('POST /api/playground/scenarios', { body: { yaml } });
    onClose();
    location.assign(hrefOf('/playground/scenarios'));
  }, t('saved'));
  return (
    <Dialog title={t('saveScenario')} onClose={onClose}>
      <Form
        onSubmit={() => void save.run()}
        {...(save.problem && { problem: save.problem })}
        actions={
          <>
            <Button isDisabled={yaml === ''} onClick={() => downloadText(`${chat.name}.yaml`, yaml)}>
              {t('download')}
            </Button>
            <Button type="submit" kind="main" isBusy={save.isRunning} isDisabled={yaml === ''}>
              {t('save')}
            </Button>
          </>
        }
      >
        <TextArea
          isCode
          rows={14}
          label={t('scenarioText')}
          hint={t('scenarioHint')}
          value={yaml}
          onInput={setYaml}
        />
      </Form>
    </Dialog>
  );
}

async function loadFile(chat: PlayChat, { waMessageId }: Message): Promise<string | undefined> {
  const response = await fetch(fileUrlOf(chat, waMessageId), { credentials: 'same-origin' });
  return response.ok ? base64(await response.blob()) : undefined;
}
