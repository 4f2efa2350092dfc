import { useState } from 'preact/hooks';
import { Field } from './field.tsx';
import { DAY_MS, localTime } from './format.ts';

const DAYS = ['7', '30', '90'];

/** The end that a choice means: `never` and `same` name none, a number is days from now, the rest a local date. */
export const expiresAt = (choice: string): { expires_at?: string } => {
  if (choice === 'never' || choice === 'same' || choice === '') return {};
  const ms = DAYS.includes(choice)
    ? Date.now() + Number(choice) * DAY_MS
    : Date.parse(`${choice}T23:59:59`);
  return { expires_at: new Date(ms).toISOString() };
};

type ExpiryProps = {
  param: string;
  value: string;
  onChange: (choice: string) => void;
  /** The first choice keeps the end of the key that is replaced. */
  isKept?: boolean;
};

export const Expiry = ({ param, value, onChange, isKept = false }: ExpiryProps) => {
  const [isDate, setDate] = useState(false);
  const { expires_at: end } = expiresAt(value);
  return (
    <Field label="Expires" param={param} hint={end && <p>Ends {localTime(end)}.</p>}>
      {(attributes) => (
        <div class="row">
          <select
            {...attributes}
            value={isDate ? 'date' : value}
            onChange={({ currentTarget }) => {
              setDate(currentTarget.value === 'date');
              onChange(currentTarget.value === 'date' ? '' : currentTarget.value);
            }}
          >
            <option value={isKept ? 'same' : 'never'}>{isKept ? 'As now' : 'Never'}</option>
            {DAYS.map((days) => (
              <option key={days} value={days}>
                In {days} days
              </option>
            ))}
            <option value="date">On a date…</option>
          </select>
          {isDate && (
            <input
              type="date"
              aria-label="Last day"
              value={value}
              onInput={({ currentTarget }) => onChange(currentTarget.value)}
            />
          )}
        </div>
      )}
    </Field>
  );
};
