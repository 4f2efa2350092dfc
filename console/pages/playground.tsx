import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { modelsOf, streamText } from '../api/caller.ts';
import { type ApiFailure, asFailure } from '../api/failure.ts';
import { Copyable } from '../parts/copy.tsx';
import { Choices, Field } from '../parts/field.tsx';
import { useLoad } from '../parts/load.ts';
import { Page } from '../parts/page.tsx';
import { hrefOf } from '../parts/route.ts';
import { useSettled } from '../parts/search.tsx';
import { snippetsFor } from '../parts/snippets.ts';
import { FailureBox } from '../parts/states.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { callerUrl } from '../settings.ts';

const PROTOCOLS = [
  { value: 'chat', label: 'Chat completions' },
  { value: 'messages', label: 'Messages' },
] as const;
type Protocol = (typeof PROTOCOLS)[number]['value'];

type Answer = { text: string; requestId?: string; failure?: ApiFailure; isRunning: boolean };

const Output = ({ answer }: { answer: Answer }) => (
  <section class="panel is-padded section" aria-label="Response">
    {answer.failure && <FailureBox failure={answer.failure} />}
    <p class="output" aria-busy={answer.isRunning}>
      {answer.text}
    </p>
    {answer.requestId && !answer.isRunning && (
      <p class="hint">
        <a class="mono" href={hrefOf('requests', { id: answer.requestId })}>
          {answer.requestId}
        </a>
      </p>
    )}
  </section>
);

/** A shorter text is not a whole key. */
const KEY_LENGTH = 30;

/** The models of a typed key: the chosen one, or the first. */
const useModels = (key: string) => {
  const [chosen, setChosen] = useState('');
  const loaded = useLoad(useSettled(key), async (typed) =>
    typed.length < KEY_LENGTH ? [] : modelsOf(typed),
  );
  const ids = (loaded.value ?? []).map(({ id }) => id);
  const model = ids.includes(chosen) ? chosen : (ids[0] ?? '');
  return {
    ids,
    model,
    setChosen,
    hint: loaded.failure ? (
      <>
        {loaded.failure.message}{' '}
        <button type="button" class="button" onClick={loaded.reload}>
          Try again
        </button>
      </>
    ) : (
      'Models of the key appear here.'
    ),
  };
};

/** One prompt to one model over either API, streamed, with the code that does the same. */
export const PlaygroundPage = () => {
  const [key, setKey] = useState('');
  const { ids, model, setChosen, hint } = useModels(key.trim());
  const [protocol, setProtocol] = useState<Protocol>('chat');
  const [prompt, setPrompt] = useState('Tell me something nice.');
  const [answer, setAnswer] = useState<Answer>();
  const running = useRef<AbortController>(undefined);
  // A response that is not read any more still costs tokens.
  useLayoutEffect(() => () => running.current?.abort(), []);

  const send = async (event: Event) => {
    event.preventDefault();
    // Enter in a field sends the form also while its button is another one.
    if (running.current) return;
    running.current = new AbortController();
    const { signal } = running.current;
    let text = '';
    const show = (more: Partial<Answer>) => setAnswer({ text, isRunning: true, ...more });
    show({});
    try {
      const request = { key: key.trim(), protocol, model, prompt, signal };
      const requestId = await streamText(request, (piece) => {
        text += piece;
        show({});
      });
      show({ isRunning: false, requestId });
    } catch (error) {
      if (signal.aborted) show({ isRunning: false });
      else show({ isRunning: false, failure: asFailure(error) });
    } finally {
      running.current = undefined;
    }
  };
  const isReady = model !== '' && prompt.trim() !== '';
  const snippets = snippetsFor({ url: callerUrl, model, prompt });
  return (
    <Page title="Playground" subtitle="A request here is a request of the key: it takes a unit.">
      <form class="panel is-padded" onSubmit={send} autoComplete="off">
        <div class="fields">
          <Field label="API key" hint="Stays in this page.">
            {(attributes) => (
              <input
                {...attributes}
                type="password"
                autoComplete="off"
                placeholder="mrk_live_…"
                value={key}
                onInput={({ currentTarget }) => setKey(currentTarget.value)}
              />
            )}
          </Field>
          <Field label="Model" hint={ids.length === 0 ? hint : ''}>
            {(attributes) => (
              <select
                {...attributes}
                value={model}
                disabled={ids.length === 0}
                onChange={({ currentTarget }) => setChosen(currentTarget.value)}
              >
                {ids.map((id) => (
                  <option key={id} value={id}>
                    {id}
                  </option>
                ))}
              </select>
            )}
          </Field>
        </div>
        <Choices legend="API" value={protocol} options={PROTOCOLS} onChange={setProtocol} />
        <Field label="Prompt">
          {(attributes) => (
            <textarea
              {...attributes}
              value={prompt}
              onInput={({ currentTarget }) => setPrompt(currentTarget.value)}
            />
          )}
        </Field>
        <div class="dialog-actions">
          {answer?.isRunning ? (
            <button type="button" class="button" onClick={() => running.current?.abort()}>
              Stop
            </button>
          ) : (
            <button type="submit" class="button is-primary" disabled={!isReady}>
              Send
            </button>
          )}
        </div>
      </form>
      {answer && <Output answer={answer} />}
      {model !== '' && (
        <section class="section" aria-label="Code">
          <Tabs
            label="The same request with"
            tabs={snippets.map(({ id, title, code }) => ({
              id,
              title,
              content: <Copyable text={code} label={`the code for ${title}`} isBlock />,
            }))}
          />
        </section>
      )}
    </Page>
  );
};
