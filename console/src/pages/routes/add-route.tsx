import { useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Form, TextArea, TextField } from '../../components/form.tsx';
import { useText } from './texts.ts';

/** A dialog that adds a route. The service checks its config and names what is wrong. */
export function AddRoute({ onClose, reload }: { onClose: () => void; reload: () => void }) {
  const text = useText();
  const [name, setName] = useState('');
  const [channelId, setChannelId] = useState('*');
  const [agentEndpoint, setAgentEndpoint] = useState('');
  const [config, setConfig] = useState('{"adk": {"appName": "my_agent"}}');
  const parsed = configOf(config);
  const add = useAction(async (body: Schemas['NewRoute']) => {
    await call('POST /api/routes', { body });
    reload();
    onClose();
  }, text.added);
  const submit = () => {
    if (parsed === undefined) return;
    void add.run({
      channelId,
      ...(name !== '' && { name }),
      ...(agentEndpoint !== '' && { agentEndpoint }),
      config: parsed,
    });
  };
  return (
    <Dialog title={text.add} onClose={onClose}>
      <Form
        onSubmit={submit}
        problem={add.problem}
        actions={
          <Button type="submit" kind="main" isBusy={add.isRunning}>
            {text.add}
          </Button>
        }
      >
        <TextField label={text.name} value={name} onInput={setName} />
        <TextField
          label={text.chat}
          hint={text.chatHint}
          value={channelId}
          onInput={setChannelId}
          isRequired
        />
        <TextField
          type="url"
          label={text.address}
          value={agentEndpoint}
          onInput={setAgentEndpoint}
          placeholder="http://localhost:8000"
        />
        <TextArea
          isCode
          label={text.kind}
          hint={text.kindHint}
          value={config}
          onInput={setConfig}
          {...(parsed === undefined && { error: text.badJson })}
        />
      </Form>
    </Dialog>
  );
}

function configOf(json: string): Schemas['NewRoute']['config'] | undefined {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
