import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { modelsOf, streamPieces } from '../api/caller.ts';
import { type CallerApi, type Turn, withPiece } from '../api/conversation.ts';
import { asFailure } from '../api/failure.ts';
import { Button, Page } from '../parts/blocks.tsx';
import { useForm } from '../parts/dialog.tsx';
import { Choices, Field, KeyInput, optionsOf, SelectField } from '../parts/field.tsx';
import { useLoad } from '../parts/load.ts';
import { useSettled } from '../parts/search.tsx';
import { Snippets } from '../parts/snippets.tsx';
import { NO_OPTIONS, PlaygroundOptions, toolsIn } from './playground-options.tsx';
import { type Shown, Turns } from './playground-turns.tsx';

const APIS = optionsOf<CallerApi>({
  ...{ chat: 'Chat completions', messages: 'Messages', responses: 'Responses' },
});

const MAX_TOKENS = 1_000;

/** A shorter text is not a whole key. */
const KEY_LENGTH = 30;

const useModels = (key: string) => {
  const [chosen, setChosen] = useState('');
  const loaded = useLoad(useSettled(key), async (typed) =>
    typed.length < KEY_LENGTH ? [] : modelsOf(typed),
  );
  const models = loaded.value ?? [];
  return {
    models,
    model: models.find(({ id }) => id === chosen) ?? models[0],
    setChosen,
    hint: loaded.failure ? (
      <>
        {loaded.failure.message} <Button onClick={loaded.reload}>Try again</Button>
      </>
    ) : (
      'Models of the key appear here.'
    ),
  };
};

/** The conversation, of which each prompt sends all of it; a failed response is left out. */
const useConversation = () => {
  const [shown, setShown] = useState<Shown[]>([]);
  const running = useRef<AbortController>(undefined);
  // A response that is not read any more still costs tokens.
  useLayoutEffect(() => () => running.current?.abort(), []);

  type Request = Parameters<typeof streamPieces>[0];
  const send = async (
    turn: Turn,
    request: Omit<Request, 'signal' | 'asked'> & { asked: Omit<Request['asked'], 'turns'> },
  ): Promise<void> => {
    // Enter in a field sends the form also while its button is another one.
    if (running.current) return;
    running.current = new AbortController();
    const { signal } = running.current;
    const before = [...shown.filter(({ failure }) => !failure), { turn }];
    const turns = before.map((one) => one.turn);
    let response: Parameters<typeof withPiece>[0] = { text: '', calls: [] };
    const show = (more: Partial<Shown>) =>
      setShown([...before, { turn: { role: 'assistant', ...response }, ...more }]);
    show({ isRunning: true });
    try {
      const requestId = await streamPieces(
        { ...request, signal, asked: { ...request.asked, turns } },
        (piece) => {
          response = withPiece(response, piece);
          show({ isRunning: true });
        },
      );
      show({ requestId });
    } catch (error) {
      const failure = asFailure(error);
      show(signal.aborted ? {} : { failure, requestId: failure.requestId });
    } finally {
      running.current = undefined;
    }
  };
  return {
    shown,
    send,
    stop: () => running.current?.abort(),
    clear: () => setShown([]),
    isRunning: shown.at(-1)?.isRunning ?? false,
  };
};

/** The calls that wait for a result, which is what is typed next. */
const openCalls = (shown: readonly Shown[]) => {
  const last = shown.at(-1);
  return last?.turn.role === 'assistant' && !last.failure && !last.isRunning ? last.turn.calls : [];
};

const usePrompt = (shown: readonly Shown[]) => {
  const [prompt, setPrompt] = useState('Tell me something nice.');
  const [images, setImages] = useState<string[]>([]);
  const calls = openCalls(shown);
  const turn: Turn =
    calls.length > 0
      ? { role: 'results', text: prompt, calls }
      : { role: 'user', text: prompt, images };
  const sent = shown.findLast((one) => one.turn.role === 'user')?.turn.text ?? '';
  return {
    ...{ prompt, setPrompt, images, setImages, turn },
    label: calls.length > 0 ? `Result of ${calls.map(({ name }) => name).join(', ')}` : 'Prompt',
    /** For the code below. */
    shownPrompt: prompt.trim() === '' ? sent : prompt,
    clear: () => {
      setPrompt('');
      setImages([]);
    },
  };
};

/** A conversation with a model over one of the three APIs, streamed, with the code that does the same. */
export const PlaygroundPage = () => {
  const [key, setKey] = useState('');
  const { models, model, setChosen, hint } = useModels(key.trim());
  const [api, setApi] = useState<CallerApi>('chat');
  const { values, bind } = useForm(NO_OPTIONS);
  const conversation = useConversation();
  const next = usePrompt(conversation.shown);
  const tools = toolsIn(values.tools);
  const isReady = next.prompt.trim() !== '' && typeof tools !== 'string';
  const send = (event: Event) => {
    event.preventDefault();
    if (!model || !isReady || conversation.isRunning) return;
    const { system, temperature, maxTokens } = values;
    const parameters = {
      temperature: temperature === '' ? undefined : Number(temperature),
      maxTokens: Number(maxTokens) || MAX_TOKENS,
    };
    const asked = { model: model.id, system: system.trim(), tools, ...parameters };
    void conversation.send(next.turn, { key: key.trim(), api, asked });
    next.clear();
  };
  return (
    <Page
      title="Playground"
      subtitle="A request here is a request of the key: it takes a unit."
      actions={
        conversation.shown.length > 0 && (
          <Button disabled={conversation.isRunning} onClick={conversation.clear}>
            Start again
          </Button>
        )
      }
    >
      <form class="panel is-padded" onSubmit={send} autoComplete="off" noValidate>
        <div class="fields">
          <Field label="API key" hint="Stays in this page.">
            {(attributes) => <KeyInput {...attributes} value={key} onChange={setKey} />}
          </Field>
          <SelectField
            label="Model"
            hint={model ? '' : hint}
            value={model?.id ?? ''}
            options={models.map(({ id }) => ({ value: id, label: id }))}
            onChange={setChosen}
          />
        </div>
        <Choices legend="API" value={api} options={APIS} onChange={setApi} />
        <PlaygroundOptions
          bind={bind}
          images={next.images}
          onImages={next.setImages}
          wrongTools={typeof tools === 'string' ? tools : undefined}
        />
        <Turns shown={conversation.shown} />
        <Field label={next.label}>
          {(attributes) => (
            <textarea
              {...attributes}
              value={next.prompt}
              onInput={({ currentTarget }) => next.setPrompt(currentTarget.value)}
            />
          )}
        </Field>
        <div class="dialog-actions">
          {conversation.isRunning ? (
            <Button onClick={conversation.stop}>Stop</Button>
          ) : (
            <Button type="submit" look="is-primary" disabled={!model || !isReady}>
              Send
            </Button>
          )}
        </div>
      </form>
      {model && (
        <section class="section" aria-label="Code">
          <Snippets label="The prompt alone with" model={model} prompt={next.shownPrompt} />
        </section>
      )}
    </Page>
  );
};
