import { useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';

/** Starts, stops, restarts and deletes a hosted agent. */
export function AgentActions(props: {
  agent: Schemas['HostedAgent'];
  reload: () => void;
  onRemoved?: () => void;
}) {
  const { agent, reload, onRemoved = reload } = props;
  const text = useTexts('agents');
  const [isAsked, setAsked] = useState(false);
  const path = { id: agent.id };
  const after = (work: Promise<unknown>) => work.finally(reload);
  const start = useAction(() => after(call('POST /api/agents/{id}/start', { path })), text.started);
  const stop = useAction(() => after(call('POST /api/agents/{id}/stop', { path })), text.stopped);
  const restart = useAction(() => after(call('POST /api/agents/{id}/restart', { path })), text.restarted);
  const remove = useAction(async () => {
    await call('DELETE /api/agents/{id}', { path });
    onRemoved();
  }, text.removed);
  const isBusy = start.isRunning || stop.isRunning || restart.isRunning;
  return (
    <div class="actions">
      {agent.status === 'stopped' ? (
        <Button isBusy={isBusy} onClick={() => void start.run()}>
          {text.start}
        </Button>
      ) : (
        <>
          <Button isBusy={isBusy} onClick={() => void restart.run()}>
            {text.restart}
          </Button>
          <Button isBusy={isBusy} onClick={() => void stop.run()}>
            {text.stop}
          </Button>
        </>
      )}
      <Button kind="danger" onClick={() => setAsked(true)}>
        {text.remove}
      </Button>
      {isAsked && (
        <ConfirmDialog
          title={`${text.remove}: ${agent.id}`}
          action={text.remove}
          confirm={() => remove.run()}
          onClose={() => setAsked(false)}
        >
          <p>{text.removeAsk}</p>
        </ConfirmDialog>
      )}
    </div>
  );
}
