import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { texts } from '../app/language.ts';
import { Button } from './button.tsx';

const useText = texts({ close: 'Close', cancel: 'Cancel' }, { close: 'Cerrar', cancel: 'Cancelar' });

/** A modal dialog. It is open while it is in the page; Escape closes it. */
export function Dialog(props: {
  title: string;
  onClose: () => void;
  isWide?: boolean;
  children: ComponentChildren;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  const text = useText();
  useEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      class={props.isWide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
    >
      <header class="card-head">
        <h2 id={id}>{props.title}</h2>
        <Button icon="close" label={text.close} onClick={props.onClose} />
      </header>
      {props.children}
    </dialog>
  );
}

/** Asks before something that cannot be undone. `confirm` resolves with whether it worked, and the dialog closes. */
export function ConfirmDialog(props: {
  title: string;
  action: string;
  isWide?: boolean;
  children: ComponentChildren;
  confirm: () => Promise<unknown>;
  onClose: () => void;
}) {
  const text = useText();
  const [isBusy, setBusy] = useState(false);
  const confirm = async () => {
    setBusy(true);
    await props.confirm();
    setBusy(false);
    props.onClose();
  };
  return (
    <Dialog title={props.title} onClose={props.onClose} {...(props.isWide && { isWide: true })}>
      {props.children}
      <div class="actions end">
        <Button onClick={props.onClose}>{text.cancel}</Button>
        <Button kind="danger" isBusy={isBusy} onClick={confirm}>
          {props.action}
        </Button>
      </div>
    </Dialog>
  );
}
