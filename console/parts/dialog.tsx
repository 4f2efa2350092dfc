import { type ComponentChildren, createContext } from 'preact';
import { useContext, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type ApiFailure, asFailure } from '../api/failure.ts';
import { Button, FailureBox } from './blocks.tsx';
import { announce } from './notice.tsx';

type DialogProps = {
  title: string;
  /** Undefined: neither Escape nor a click on the page closes the dialog. */
  onClose?: (() => void) | undefined;
  isWide?: boolean;
  children: ComponentChildren;
};

/** A modal dialog: focus moves in, stays in, and returns to its opener. */
export const Dialog = ({ title, onClose, isWide = false, children }: DialogProps) => {
  const id = useId();
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = element.current;
    const opener = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={isWide ? 'dialog is-wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      // Chromium closes a dialog at the second Escape without asking.
      onClose={({ currentTarget }) => {
        // The event of a dialog that was removed comes late, and would close the one that has opened since.
        if (!currentTarget.isConnected) return;
        if (onClose) onClose();
        else currentTarget.showModal();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
};

type FormProps = {
  title: string;
  /** The verb on the button, and its form while the call runs. @default Save */
  action?: string;
  busyAction?: string;
  isReady?: boolean;
  isDangerous?: boolean;
  onClose: () => void;
  /** After the dialog has closed. */
  onChanged?: (() => void) | undefined;
  /** Returns what to announce once the dialog has closed, undefined if it did all that; throws to keep it open with the reason. */
  onSubmit: () => Promise<string | undefined>;
  children: ComponentChildren;
};

const FailureContext = createContext<ApiFailure | undefined>(undefined);
/** Why the call of the form around was rejected. */
export const useFailure = () => useContext(FailureContext);

/** What is typed into a form: `bind` is a field's member of the body, with its value. */
export const useForm = <Values extends Record<string, unknown>>(initial: Values) => {
  const [values, setValues] = useState(initial);
  const bind = <Name extends keyof Values & string>(param: Name) => ({
    param,
    value: values[param],
    onChange: (value: Values[Name]) => setValues((old) => ({ ...old, [param]: value })),
  });
  return { values, bind };
};

/** A dialog that makes one change: one click sends one request, and a failure keeps what was typed. */
export const FormDialog = (props: FormProps) => {
  const { title, action = 'Save', busyAction = 'Saving…', isReady = true, isDangerous } = props;
  const [failure, setFailure] = useState<ApiFailure>();
  const [isBusy, setBusy] = useState(false);
  const inFlight = useRef(false);
  const form = useRef<HTMLFormElement>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (inFlight.current || !isReady) return;
    inFlight.current = true;
    setBusy(true);
    setFailure(undefined);
    try {
      const text = await props.onSubmit();
      if (text === undefined) return;
      props.onClose();
      props.onChanged?.();
      announce(text);
    } catch (error) {
      // The browser's button closes a page during a call.
      if (form.current) setFailure(asFailure(error));
      else announce(asFailure(error).message);
    } finally {
      inFlight.current = false;
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={isBusy ? undefined : props.onClose}>
      <form ref={form} onSubmit={submit} noValidate>
        <FailureContext.Provider value={failure}>{props.children}</FailureContext.Provider>
        {failure && failure.param === undefined && <FailureBox failure={failure} />}
        <div class="dialog-actions">
          <Button disabled={isBusy} onClick={props.onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            look={isDangerous ? 'is-danger' : 'is-primary'}
            disabled={isBusy || !isReady}
          >
            {isBusy ? busyAction : action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
};
