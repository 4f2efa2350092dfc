import type { Tool } from '../api/conversation.ts';
import { Field, TextField } from '../parts/field.tsx';

/** What a request has besides its prompt, as it is typed. */
export const NO_OPTIONS = { system: '', temperature: '', maxTokens: '1000', tools: '' };
export type OptionTexts = typeof NO_OPTIONS;

const TOOLS_EXAMPLE = `[{ "name": "weather", "description": "Weather of a city",
   "parameters": { "type": "object", "properties": { "city": { "type": "string" } } } }]`;

/** The tools in a JSON text; a text if it is none. */
export const toolsIn = (text: string): Tool[] | string => {
  if (text.trim() === '') return [];
  try {
    const tools: unknown = JSON.parse(text);
    const isList = Array.isArray(tools) && tools.every((tool) => typeof tool?.name === 'string');
    return isList ? tools : 'It must be a list of objects with a name.';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

const readImage = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });

type Bound = { value: string; onChange: (text: string) => void };
type OptionsProps = {
  bind: (name: keyof OptionTexts) => Bound & { param: string };
  images: string[];
  onImages: (images: string[]) => void;
  wrongTools: string | undefined;
};

export const PlaygroundOptions = ({ bind, images, onImages, wrongTools }: OptionsProps) => (
  <details class="more-fields">
    <summary>System prompt, parameters, tools, images</summary>
    <TextField label="System prompt" kind="lines" {...bind('system')} />
    <div class="fields">
      <TextField
        label="Temperature"
        kind="number"
        placeholder="the model’s"
        {...bind('temperature')}
      />
      <TextField label="Tokens at most" kind="number" {...bind('maxTokens')} />
      <Field
        label="Images"
        hint={images.length === 0 ? 'Sent with the next prompt.' : `${images.length} chosen.`}
      >
        {(attributes) => (
          <input
            {...attributes}
            type="file"
            accept="image/*"
            multiple
            onChange={async ({ currentTarget: { files } }) => {
              onImages(await Promise.all([...(files ?? [])].map(readImage)));
            }}
          />
        )}
      </Field>
    </div>
    <TextField
      label="Tools"
      kind="lines"
      placeholder={TOOLS_EXAMPLE}
      hint={
        wrongTools ? (
          <span class="wrong">{wrongTools}</span>
        ) : (
          'A JSON list, in the form of the example.'
        )
      }
      {...bind('tools')}
    />
  </details>
);
