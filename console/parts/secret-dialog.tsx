import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { KEY } from '../../lambdas/clients.ts';
import { modelsOf } from '../api/caller.ts';
import type { NewKey } from '../api/types.ts';
import { Button, Shown, Tick } from './blocks.tsx';
import { Copyable } from './copy.tsx';
import { Dialog } from './dialog.tsx';
import { SelectField } from './field.tsx';
import { useLoad } from './load.ts';
import { Snippets } from './snippets.tsx';

const warnOfLoss = (event: BeforeUnloadEvent): void => event.preventDefault();

/** Code for the key with each of its models; loading them with the key shows that it works. */
const KeyCode = ({ secret }: { secret: string }) => {
  const models = useLoad('', () => modelsOf(secret));
  const [chosen, setChosen] = useState<string>();
  return (
    <Shown of={models}>
      {(all) => {
        const model = all.find(({ id }) => id === chosen) ?? all[0];
        return (
          model && (
            <>
              <SelectField
                label="Code for the model"
                value={model.id}
                options={all.map(({ id }) => ({ value: id, label: id }))}
                onChange={setChosen}
              />
              <Snippets label="Use the key with" model={model} />
            </>
          )
        );
      }}
    </Shown>
  );
};

type SecretProps = {
  title: string;
  label: string;
  text: string;
  isWide?: boolean;
  /** Above and below the secret. */
  about: ComponentChildren;
  children?: ComponentChildren;
  onDone: () => void;
};

/** Shows a secret, this once. Only Done closes it, after the box is ticked: the secret is lost with it. */
export const SecretDialog = ({ title, label, text, isWide = false, ...props }: SecretProps) => {
  const [isSaved, setSaved] = useState(false);
  useEffect(() => {
    addEventListener('beforeunload', warnOfLoss);
    return () => removeEventListener('beforeunload', warnOfLoss);
  }, []);
  return (
    <Dialog title={title} isWide={isWide}>
      <p>{props.about}</p>
      <Copyable text={text} label={label} />
      {props.children}
      <div class="dialog-actions">
        <Tick label="I have saved it" checked={isSaved} onChange={setSaved} />
        <Button look="is-primary" disabled={!isSaved} onClick={props.onDone}>
          Done
        </Button>
      </div>
    </Dialog>
  );
};

export const NewKeyDialog = ({ secret, onDone }: { secret: NewKey; onDone: () => void }) => (
  <SecretDialog
    title="Save this key now"
    label="the API key"
    text={secret.key}
    isWide
    about="It is shown once. Only its SHA-256 is stored, so it cannot be shown again; a lost key is replaced by rotating it."
    onDone={onDone}
  >
    <KeyCode secret={secret.key} />
    <p class="hint">
      The code reads the key from the environment variable <code>{KEY}</code>.
    </p>
  </SecretDialog>
);
