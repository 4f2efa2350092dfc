import type { Plan } from '../api/types.ts';
import { SelectField, TextField } from '../parts/field.tsx';

/** What a plan may choose: the values with their words, the default first. */
const CHOICES = {
  period: { label: 'Period of the quota', month: 'month', day: 'day', hour: 'hour' },
  replay: {
    label: 'Repeats get the same response',
    header: 'of requests with Idempotency-Key',
    retries: 'of those, and of retries of SDKs',
    off: 'never',
  },
  priority: {
    label: 'Waits for capacity',
    interactive: 'with the other plans',
    batch: 'after the other plans',
  },
  loops: {
    label: 'Requests in a loop',
    warn: 'get a warning',
    stop: 'are denied',
    off: 'are not looked for',
  },
  state: {
    label: 'Responses are stored',
    '': 'as the stage has it',
    default: 'unless a request declines',
    asked: 'where a request asks for it',
    off: 'never',
  },
} as const;
type ChoiceName = keyof typeof CHOICES;
const MORE = ['priority', 'loops', 'state'] as const;

/** Figures of the capacity that targets declare, with what applies where a plan has none. */
const FIGURES = [
  { name: 'max_wait_ms', label: 'Wait for capacity at most, ms', none: 0 },
  { name: 'weight', label: 'Share of capacity', none: 1 },
] as const;
type FieldName = ChoiceName | (typeof FIGURES)[number]['name'] | 'require';
/** As they are typed and chosen. */
type Texts = Record<FieldName, string>;

/** Whether the responses of a plan are stored, in words. */
export const storedAs = ({ state }: Plan): string => CHOICES.state[state ?? ''];

const optionsOf = (name: ChoiceName) => {
  const { label: _, ...options } = CHOICES[name];
  return Object.entries(options).map(([value, label]) => ({ value, label: String(label) }));
};
const defaultOf = (name: ChoiceName): string => optionsOf(name)[0]?.value ?? '';

const textsFrom = <Name extends string>(names: readonly Name[], textOf: (name: Name) => string) =>
  Object.fromEntries(names.map((name) => [name, textOf(name)])) as Record<Name, string>;
const namesOf = <Name extends string>(fields: readonly { name: Name }[]): Name[] =>
  fields.map(({ name }) => name);
const CHOICE_NAMES = Object.keys(CHOICES) as ChoiceName[];

export const planTexts = (plan: Partial<Plan> = {}): Texts => ({
  ...textsFrom(CHOICE_NAMES, (name) => plan[name] ?? defaultOf(name)),
  ...textsFrom(namesOf(FIGURES), (name) => String(plan[name] ?? '')),
  require: Object.entries(plan.require ?? {})
    .flatMap(([label, words]) => words.map((word) => `${label}=${word}`))
    .join(', '),
});

/** The members of a body. What a plan never had and has its default is left out. */
export const planBody = (texts: Texts, plan: Plan | undefined) => {
  const chosen = CHOICE_NAMES.filter(
    (name) => name === 'period' || plan?.[name] !== undefined || texts[name] !== defaultOf(name),
  );
  const figures = FIGURES.filter(({ name }) => plan?.[name] !== undefined || texts[name] !== '');
  const pairs = texts.require.split(/[\s,]+/).filter(Boolean);
  const words = Map.groupBy(
    pairs.map((pair) => pair.split('=')),
    ([label = '']) => label,
  );
  const required = [...words].map(([label, found]) => [label, found.map(([, word = '']) => word)]);
  return {
    ...Object.fromEntries(chosen.map((name) => [name, texts[name] || undefined])),
    ...Object.fromEntries(
      figures.map(({ name, none }) => [name, texts[name] === '' ? none : Number(texts[name])]),
    ),
    ...(required.length > 0 && { require: Object.fromEntries(required) }),
    ...(required.length === 0 && plan?.require && { require: null }),
  };
};

type Bound = { param: string; value: string; onChange: (value: string) => void };
type FieldsProps = { bind: (name: FieldName) => Bound };

const Choice = ({ name, bind }: FieldsProps & { name: ChoiceName }) => (
  <SelectField label={CHOICES[name].label} options={optionsOf(name)} {...bind(name)} />
);

export const PlanFields = ({ bind }: FieldsProps) => (
  <>
    <div class="fields">
      <Choice name="period" bind={bind} />
      <Choice name="replay" bind={bind} />
    </div>
    <details class="more-fields">
      <summary>Capacity, required targets, loops, stored responses</summary>
      <div class="fields">
        {FIGURES.map(({ name, label, none }) => (
          <TextField
            key={name}
            label={label}
            kind="number"
            placeholder={String(none)}
            {...bind(name)}
          />
        ))}
        {MORE.map((name) => (
          <Choice key={name} name={name} bind={bind} />
        ))}
        <TextField
          label="Required labels of targets"
          placeholder="none"
          hint="For example region=eu, retention=none."
          {...bind('require')}
        />
      </div>
    </details>
  </>
);
