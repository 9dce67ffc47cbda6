import { useState } from 'preact/hooks';
import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Menu } from '../../components/menu.tsx';
import { useAgentName } from './use-agent-name.ts';

/** Starts, stops, restarts and deletes a hosted agent: a menu, on the page of the agent with buttons beside it. */
export function AgentActions(props: {
  agent: Schemas['HostedAgent'];
  reload: () => void;
  /** Of the page of the agent, which its deletion leaves. */
  onRemoved?: () => void;
}) {
  const { agent, reload, onRemoved } = props;
  const text = useTexts('agents');
  const name = useAgentName()(agent);
  const [isAsked, setAsked] = useState(false);
  const path = { id: agent.id };
  const after = (work: Promise<unknown>) => work.finally(reload);
  const start = useAction(() => after(call('POST /api/agents/{id}/start', { path })), text.started);
  const stop = useAction(() => after(call('POST /api/agents/{id}/stop', { path })), text.stopped);
  const restart = useAction(() => after(call('POST /api/agents/{id}/restart', { path })), text.restarted);
  const remove = useAction(async () => {
    await call('DELETE /api/agents/{id}', { path });
    (onRemoved ?? reload)();
  }, text.removed);
  const isBusy = start.isRunning || stop.isRunning || restart.isRunning;
  const runs = (
    agent.status === 'stopped'
      ? [{ title: text.start, action: start }]
      : [
          { title: text.restart, action: restart },
          { title: text.stop, action: stop },
        ]
  ).map(({ title, action }) => ({ title, isDisabled: isBusy, onChoose: () => void action.run() }));
  return (
    <>
      {onRemoved &&
        runs.map(({ title, isDisabled, onChoose }) => (
          <Button key={title} isDisabled={isDisabled} onClick={onChoose}>
            {title}
          </Button>
        ))}
      <Menu
        of={name}
        items={[
          ...(onRemoved ? [] : runs),
          { title: text.remove, isDanger: true, onChoose: () => setAsked(true) },
        ]}
      />
      {isAsked && (
        <ConfirmDialog
          title={`${text.remove}: ${name}`}
          action={text.remove}
          confirm={() => remove.run()}
          onClose={() => setAsked(false)}
        >
          <p>{text.removeAsk}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
