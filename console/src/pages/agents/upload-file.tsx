import { useState } from 'preact/hooks';
import { call } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useTexts } from '../../app/language.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Form, TextField } from '../../components/form.tsx';

/** Stores a file of this computer in the folder of an agent. */
export function UploadFile({
  id,
  onStored,
  onClose,
}: {
  id: string;
  onStored: () => void;
  onClose: () => void;
}) {
  const text = useTexts('agents');
  const [file, setFile] = useState<File>();
  const [path, setPath] = useState('');
  const upload = useAction(async () => {
    if (!file) return;
    const form = new FormData();
    form.append('file', file);
    await call('PUT /api/agents/{id}/files/content', { path: { id }, query: { path }, form });
    onStored();
    onClose();
  }, text.uploaded);
  const choose = (chosen: File | undefined) => {
    setFile(chosen);
    if (chosen) setPath(`workspace/${chosen.name}`);
  };
  return (
    <Dialog title={text.upload} onClose={onClose}>
      <Form
        onSubmit={() => void upload.run()}
        {...(upload.problem && { problem: upload.problem })}
        actions={
          <Button kind="main" type="submit" isBusy={upload.isRunning} isDisabled={!file || path === ''}>
            {text.upload}
          </Button>
        }
      >
        <label class="field">
          {text.uploadFile}
          <input type="file" onChange={({ currentTarget }) => choose(currentTarget.files?.[0])} />
        </label>
        <TextField label={text.uploadPath} hint={text.uploadHint} value={path} onInput={setPath} />
      </Form>
    </Dialog>
  );
}
