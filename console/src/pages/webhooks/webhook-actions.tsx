import { useState } from 'preact/hooks';
import { call } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useTexts } from '../../app/language.ts';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Menu } from '../../components/menu.tsx';
import { toast } from '../../components/toast.tsx';
import { useTranslation } from '../../translation/use-translation.ts';
import { WebhookForm } from './webhook-form.tsx';
import type { Webhook } from './webhooks-page.tsx';

/** What can be done with a webhook. */
export function WebhookActions({ webhook, reload }: { webhook: Webhook; reload: () => void }) {
  const text = useTexts('webhooks');
  const [open, setOpen] = useState<'edit' | 'remove'>();
  const { sentence } = useTranslation();
  const path = { id: webhook.id };
  const change = useAction(async () => {
    await call('PATCH /api/webhooks/{id}', { path, body: { enabled: !webhook.enabled } });
    reload();
  });
  const test = useAction(async () => {
    const { data } = await call('POST /api/webhooks/{id}/test', { path });
    if (data.isDelivered) toast(text.testGood(String(data.status)), 'good');
    else toast(text.testBad(sentence(data.phrase) ?? data.error ?? ''), 'bad');
  });
  const remove = useAction(async () => {
    await call('DELETE /api/webhooks/{id}', { path });
    reload();
  }, text.removed);
  return (
    <>
      <Menu
        of={webhook.url}
        items={[
          { title: text.test, isDisabled: test.isRunning, onChoose: () => void test.run() },
          { title: text.edit, onChoose: () => setOpen('edit') },
          {
            title: webhook.enabled ? text.switchOff : text.switchOn,
            isDisabled: change.isRunning,
            onChoose: () => void change.run(),
          },
          { title: text.remove, isDanger: true, onChoose: () => setOpen('remove') },
        ]}
      />
      {open === 'edit' && (
        <WebhookForm webhook={webhook} onClose={() => setOpen(undefined)} reload={reload} />
      )}
      {open === 'remove' && (
        <ConfirmDialog
          title={`${text.remove}: ${webhook.url}`}
          action={text.remove}
          confirm={() => remove.run()}
          onClose={() => setOpen(undefined)}
        >
          <p>{text.removeAsk}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
