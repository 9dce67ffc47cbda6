import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { useTexts } from '../app/language.ts';
import { type Forms, FormsOfDialog, mayLeave } from '../app/location.ts';
import { Button } from './button.tsx';
import { giveFocusBack } from './focus.ts';

/** A modal dialog. It is open while it is in the page; Escape and its button close it, after a question while a form in it is not saved. */
export function Dialog(props: {
  title: string;
  onClose: () => void;
  isWide?: boolean;
  children: ComponentChildren;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  const text = useTexts('dialog');
  const forms = useRef<Forms>(new Set());
  const close = () => {
    if (mayLeave(forms.current)) props.onClose();
  };
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      giveFocusBack(before);
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={props.isWide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      // A browser closes a dialog at the second Escape, even when the first was cancelled.
      onClose={() => {
        if (!ref.current?.isConnected) return;
        close();
        if (ref.current?.isConnected && !ref.current.open) ref.current.showModal();
      }}
    >
      <header class="card-head">
        <h2 id={id}>{props.title}</h2>
        <Button icon="close" label={text.close} onClick={close} />
      </header>
      <FormsOfDialog.Provider value={forms.current}>{props.children}</FormsOfDialog.Provider>
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
  const text = useTexts('dialog');
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
