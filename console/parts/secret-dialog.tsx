import { useEffect, useState } from 'preact/hooks';
import { modelsOf } from '../api/caller.ts';
import type { NewKey } from '../api/types.ts';
import { callerUrl } from '../settings.ts';
import { Copyable } from './copy.tsx';
import { Dialog } from './dialog.tsx';
import { useLoad } from './load.ts';
import { KEY_VARIABLE, snippetsFor } from './snippets.ts';
import { Shown } from './states.tsx';
import { Tabs } from './tabs.tsx';

const warnOfLoss = (event: BeforeUnloadEvent): void => event.preventDefault();

/** Code for the key with each of its models; loading them with the key shows that it works. */
const KeyCode = ({ secret }: { secret: string }) => {
  const models = useLoad('', () => modelsOf(secret));
  const [chosen, setChosen] = useState<string>();
  return (
    <Shown of={models}>
      {(all) => {
        const model = chosen ?? all[0]?.id ?? '';
        return (
          <>
            <label class="code-model">
              Code for the model{' '}
              <select
                value={model}
                onChange={({ currentTarget }) => setChosen(currentTarget.value)}
              >
                {all.map(({ id }) => (
                  <option key={id} value={id}>
                    {id}
                  </option>
                ))}
              </select>
            </label>
            <Tabs
              label="Use the key with"
              tabs={snippetsFor({ url: callerUrl, model }).map(({ id, title, code }) => ({
                id,
                title,
                content: <Copyable key={id} text={code} label={`the code for ${title}`} isBlock />,
              }))}
            />
          </>
        );
      }}
    </Shown>
  );
};

/** Shows a new key, this once. Only Done closes it, after the box is ticked: the key is lost with it. */
export const SecretDialog = ({ secret, onDone }: { secret: NewKey; onDone: () => void }) => {
  const [isSaved, setSaved] = useState(false);
  useEffect(() => {
    addEventListener('beforeunload', warnOfLoss);
    return () => removeEventListener('beforeunload', warnOfLoss);
  }, []);
  return (
    <Dialog title="Save this key now" isWide>
      <p>
        It is shown once. Only its SHA-256 is stored, so it cannot be shown again; a lost key is
        replaced by rotating it.
      </p>
      <Copyable text={secret.key} label="the API key" />
      <KeyCode secret={secret.key} />
      <p class="hint">
        The code reads the key from the environment variable <code>{KEY_VARIABLE}</code>.
      </p>
      <div class="dialog-actions">
        <label class="tick">
          <input
            type="checkbox"
            checked={isSaved}
            onChange={({ currentTarget }) => setSaved(currentTarget.checked)}
          />
          I have saved it
        </label>
        <button type="button" class="button is-primary" disabled={!isSaved} onClick={onDone}>
          Done
        </button>
      </div>
    </Dialog>
  );
};
