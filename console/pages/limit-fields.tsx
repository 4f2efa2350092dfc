import type { ApiFailure } from '../api/failure.ts';
import type { Plan } from '../api/types.ts';
import { TextField } from '../parts/field.tsx';

const NUMBERS = [
  { name: 'rpm', label: 'Requests a minute' },
  { name: 'quota', label: 'Quota' },
  { name: 'concurrency', label: 'At a time' },
] as const;
type LimitName = (typeof NUMBERS)[number]['name'] | 'models';

/** Limits as they are typed; empty: none. */
export type LimitTexts = Record<LimitName, string>;

type Limits = Partial<Pick<Plan, 'rpm' | 'quota' | 'concurrency' | 'models'>>;

export const NO_LIMITS: LimitTexts = { rpm: '', quota: '', concurrency: '', models: '' };

export const textsOf = ({ rpm, quota, concurrency, models }: Limits): LimitTexts => ({
  rpm: String(rpm ?? ''),
  quota: String(quota ?? ''),
  concurrency: String(concurrency ?? ''),
  models: models?.join('\n') ?? '',
});

const listIn = (text: string): string[] => text.split(/[\s,]+/).filter((item) => item !== '');

/** The limits of a body; what is left empty becomes `none`: null removes a limit, undefined leaves it out. */
export const limitsIn = (texts: LimitTexts, none: null | undefined) => ({
  ...Object.fromEntries(
    NUMBERS.map(({ name }) => [name, texts[name] === '' ? none : Number(texts[name])]),
  ),
  models: listIn(texts.models).length === 0 ? none : listIn(texts.models),
});

type FieldsProps = {
  texts: LimitTexts;
  failure: ApiFailure | undefined;
  onChange: (texts: LimitTexts) => void;
  /** What applies where a field is empty, in grey. */
  defaults: Limits;
  modelsHint: string;
};

/** Limits of a plan, or of a key. */
export const LimitFields = ({ texts, failure, onChange, defaults, modelsHint }: FieldsProps) => (
  <>
    <div class="fields">
      {NUMBERS.map(({ name, label }) => (
        <TextField
          key={name}
          label={label}
          param={name}
          kind="number"
          placeholder={String(defaults[name] ?? 'no limit')}
          failure={failure}
          value={texts[name]}
          onChange={(text) => onChange({ ...texts, [name]: text })}
        />
      ))}
    </div>
    <TextField
      label="Models"
      param="models"
      placeholder={defaults.models?.join('\n') ?? 'all models'}
      kind="lines"
      failure={failure}
      hint={modelsHint}
      value={texts.models}
      onChange={(models) => onChange({ ...texts, models })}
    />
  </>
);
