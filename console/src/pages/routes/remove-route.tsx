import { call, type Schemas } from '../../api/call.ts';
import { useAction } from '../../api/use-action.ts';
import { useQuery } from '../../api/use-query.ts';
import { useTexts } from '../../app/language.ts';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { Loaded } from '../../components/states.tsx';
import { PreviewView } from './route-preview.tsx';

/** Deletes a route, after it has shown which of the last messages it took. */
export function RemoveRoute(props: {
  route: Schemas['Route'];
  title: string;
  reload: () => void;
  onClose: () => void;
}) {
  const text = useTexts('routes');
  const { id } = props.route;
  const preview = useQuery('POST /api/routes/preview', { body: { remove: id } });
  const remove = useAction(async () => {
    await call('DELETE /api/routes/{id}', { path: { id } });
    props.reload();
  }, text.removed);
  return (
    <ConfirmDialog
      isWide
      title={`${text.remove}: ${props.title}`}
      action={text.remove}
      confirm={() => remove.run()}
      onClose={props.onClose}
    >
      <p>{text.removeAsk}</p>
      <h3>{text.preview}</h3>
      <Loaded query={preview}>{({ data }) => <PreviewView preview={data} />}</Loaded>
    </ConfirmDialog>
  );
}
