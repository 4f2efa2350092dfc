import type { Plan } from '../api/types.ts';
import { useShared } from '../parts/context.ts';
import { CheckList, TextField } from '../parts/field.tsx';
import { useLoad } from '../parts/load.ts';

export const NUMBERS = [
  { name: 'rpm', label: 'Requests a minute' },
  { name: 'quota', label: 'Quota' },
  { name: 'concurrency', label: 'Concurrent requests' },
] as const;
type NumberName = (typeof NUMBERS)[number]['name'];

/** Limits as they are typed and ticked; empty: none. */
export type LimitTexts = Record<NumberName, string> & { models: string[] };

type Limits = Partial<Pick<Plan, NumberName | 'models'>>;

export const NO_LIMITS: LimitTexts = { rpm: '', quota: '', concurrency: '', models: [] };

export const textsOf = ({ rpm, quota, concurrency, models = [] }: Limits): LimitTexts => ({
  rpm: String(rpm ?? ''),
  quota: String(quota ?? ''),
  concurrency: String(concurrency ?? ''),
  models,
});

/** The limits of a body; what is left empty becomes `none`: null removes a limit, undefined leaves it out. */
export const limitsIn = ({ models, ...texts }: LimitTexts, none: null | undefined) => ({
  ...Object.fromEntries(
    NUMBERS.map(({ name }) => [name, texts[name] === '' ? none : Number(texts[name])]),
  ),
  models: models.length === 0 ? none : models,
});

type Bound<Value> = { param: string; value: Value; onChange: (value: Value) => void };

/** Models of the plan or else the catalog, and those that are ticked already. */
const ModelList = (parts: Bound<string[]> & { allowed: string[] | undefined; hint: string }) => {
  const { allowed, hint, ...bound } = parts;
  const { session } = useShared();
  const listed = useLoad('', () => session.api('models.list', {}));
  const known = allowed ?? listed.value?.data.map(({ id }) => id) ?? [];
  const ids = [...new Set([...known, ...bound.value])];
  return (
    <CheckList
      legend="Models"
      hint={listed.failure && !allowed ? listed.failure.message : hint}
      options={ids.map((id) => ({ value: id, label: id }))}
      {...bound}
    />
  );
};

type FieldsProps = {
  bind: ((name: NumberName) => Bound<string>) & ((name: 'models') => Bound<string[]>);
  /** What applies where a field is empty, in grey. */
  defaults: Limits;
  modelsHint: string;
};

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
    <ModelList allowed={defaults.models} hint={modelsHint} {...bind('models')} />
  </>
);
