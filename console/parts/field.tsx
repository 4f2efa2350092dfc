import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { Tick } from './blocks.tsx';
import { useFailure } from './dialog.tsx';

type FieldProps = {
  label: string;
  /** The member of the body that the field becomes: failures name it. */
  param?: string;
  hint?: ComponentChildren;
  children: (attributes: { id: string; 'aria-describedby': string }) => ComponentChildren;
};

/** A labelled control with a hint, and the failure of its member below it. */
export const Field = ({ label, param, hint, children }: FieldProps) => {
  const id = useId();
  const failure = useFailure();
  // A failure may name a part of the member, e.g. `require.region[0]`.
  const member = failure?.param?.split(/[.[]/)[0];
  const own = param !== undefined && member === param ? failure?.message : undefined;
  return (
    <div class={own ? 'field is-wrong' : 'field'}>
      <label for={id}>{label}</label>
      {children({ id, 'aria-describedby': `${id}-hint` })}
      <div id={`${id}-hint`} class="hint">
        {own && (
          <p class="wrong" role="alert">
            {own}
          </p>
        )}
        {hint}
      </div>
    </div>
  );
};

type Typed = { currentTarget: { value: string } };

type TextFieldProps = Omit<FieldProps, 'children'> & {
  value: string;
  onChange: (text: string) => void;
  kind?: 'line' | 'number' | 'lines';
  placeholder?: string;
  maxLength?: number;
};

export const TextField = ({
  value,
  onChange,
  kind = 'line',
  placeholder,
  maxLength,
  ...field
}: TextFieldProps) => (
  <Field {...field}>
    {(attributes) => {
      const onInput = ({ currentTarget }: Typed) => onChange(currentTarget.value);
      const control = { ...attributes, value, onInput, placeholder, autoComplete: 'off' };
      if (kind === 'number') return <input {...control} type="number" min={0} step="any" />;
      if (kind === 'lines') return <textarea {...control} spellcheck={false} />;
      return <input {...control} type="text" maxLength={maxLength} spellcheck={false} />;
    }}
  </Field>
);

export const IdField = (field: Pick<TextFieldProps, 'param' | 'value' | 'onChange'>) => (
  <TextField label="Id" hint="Letters, digits, dots, dashes." {...field} />
);

export type Option<T extends string = string> = { value: T; label: string; isDefault?: true };

/** The options of a choice, by their labels; numbers come first, as among the members of any object. `usual` is marked. */
export const optionsOf = <T extends string>(
  labels: Readonly<Record<T, string>>,
  usual?: NoInfer<T>,
): Option<T>[] =>
  (Object.entries(labels) as [T, string][]).map(([value, label]) => ({
    ...{ value, label },
    ...(value === usual && { isDefault: true }),
  }));

type SelectProps<T extends string> = {
  value: T;
  options: readonly Option<T>[];
  onChange: (value: T) => void;
};

/** A choice of one value, out of sight until it is opened. */
export const Select = <T extends string>(
  props: SelectProps<T> & { id?: string; 'aria-label'?: string; 'aria-describedby'?: string },
) => {
  const { options, onChange, ...attributes } = props;
  return (
    <select
      disabled={options.length === 0}
      {...attributes}
      onChange={({ currentTarget }) => onChange(currentTarget.value as T)}
    >
      {options.map(({ value, label }) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
};

export const SelectField = <T extends string>({
  value,
  options,
  onChange,
  ...field
}: SelectProps<T> & Omit<FieldProps, 'children'>) => (
  <Field {...field}>
    {(attributes) => <Select {...attributes} value={value} options={options} onChange={onChange} />}
  </Field>
);

/** A field for a key, which no browser completes or stores. */
export const KeyInput = ({
  onChange,
  ...attributes
}: Pick<TextFieldProps, 'value' | 'onChange'> & { id: string; 'aria-describedby': string }) => (
  <input
    {...attributes}
    type="password"
    autoComplete="off"
    placeholder="mrk_live_…"
    onInput={({ currentTarget }: Typed) => onChange(currentTarget.value)}
  />
);

type CheckListProps = {
  legend: string;
  param?: string;
  hint?: ComponentChildren;
  options: readonly Option[];
  value: readonly string[];
  onChange: (chosen: string[]) => void;
};

export const CheckList = ({ legend, hint, options, value: chosen, onChange }: CheckListProps) => (
  <fieldset class="check-list field">
    <legend>{legend}</legend>
    <div class="checks">
      {options.map(({ value, label }) => (
        <Tick
          key={value}
          label={label}
          checked={chosen.includes(value)}
          onChange={(isTicked) => {
            const others = chosen.filter((one) => one !== value);
            onChange(isTicked ? [...others, value] : others);
          }}
        />
      ))}
    </div>
    {hint && <p class="hint">{hint}</p>}
  </fieldset>
);

type ChoicesProps<T extends string> = {
  legend: string;
  param?: string;
  value: T;
  options: readonly Option<T>[];
  onChange: (value: T) => void;
  isLegendHidden?: boolean;
};

/** One of a few values, all in sight. */
export const Choices = <T extends string>(parts: ChoicesProps<T>) => {
  const { legend, value, options, onChange, isLegendHidden = false } = parts;
  const name = useId();
  return (
    <fieldset class="choices">
      <legend class={isLegendHidden ? 'sr-only' : ''}>{legend}</legend>
      <div class="segments">
        {options.map((option) => (
          <label key={option.value} class={option.value === value ? 'is-chosen' : ''}>
            <input
              type="radio"
              name={name}
              checked={option.value === value}
              onChange={() => onChange(option.value)}
            />
            {option.label}
          </label>
        ))}
      </div>
    </fieldset>
  );
};
