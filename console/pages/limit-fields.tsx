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
  bind: (name: LimitName) => { param: string; value: string; onChange: (text: string) => void };
  /** What applies where a field is empty, in grey. */
  defaults: Limits;
  modelsHint: string;
};

/** Limits of a plan, or of a key. */
export const LimitFields = ({ bind, defaults, modelsHint }: FieldsProps) => (
  <>
    <div class="fields">
      {NUMBERS.map(({ name, label }) => (
        <TextField
          key={name}
          label={label}
          kind="number"
          placeholder={String(defaults[name] ?? 'no limit')}
          {...bind(name)}
        />
      ))}
    </div>
    <TextField
      label="Models"
      placeholder={defaults.models?.join('\n') ?? 'all models'}
      kind="lines"
      hint={modelsHint}
      {...bind('models')}
    />
  </>
);
