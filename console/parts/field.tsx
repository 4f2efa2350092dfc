import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { ApiFailure } from '../api/failure.ts';

type FieldProps = {
  label: string;
  /** The member of the body that the field becomes: failures name it. */
  param?: string;
  failure?: ApiFailure | undefined;
  hint?: ComponentChildren;
  children: (attributes: { id: string; 'aria-describedby': string }) => ComponentChildren;
};

/** A labelled control with a hint, and the failure of its member below it. */
export const Field = ({ label, param, failure, hint, children }: FieldProps) => {
  const id = useId();
  const own = param !== undefined && failure?.param === param ? failure.message : undefined;
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

type ChoicesProps<T extends string> = {
  legend: string;
  value: T;
  options: readonly { value: T; label: string }[];
  onChange: (value: T) => void;
  isLegendHidden?: boolean;
};

/** One of a few values, all in sight. */
export const Choices = <T extends string>({
  legend,
  value,
  options,
  onChange,
  isLegendHidden = false,
}: ChoicesProps<T>) => {
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
