/** A number that stays a double if it is whole. */
export type Double = { double: number };
type Plain = string | number | boolean | readonly string[] | Double | undefined;

type AnyValue =
  | { stringValue: string }
  | { intValue: string }
  | { doubleValue: number }
  | { boolValue: boolean }
  | { arrayValue: { values: AnyValue[] } };

export type Attribute = { key: string; value: AnyValue };

const anyValueOf = (value: Exclude<Plain, undefined>): AnyValue => {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  // 64-bit numbers are texts in OTLP's JSON.
  if (typeof value === 'number') return { intValue: String(value) };
  if ('double' in value) return { doubleValue: value.double };
  return { arrayValue: { values: value.map((text) => ({ stringValue: text })) } };
};

/** Attributes of what is defined. */
export const attributesOf = (values: Record<string, Plain>): Attribute[] =>
  Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: anyValueOf(value) }],
  );

/** Seconds of milliseconds. */
export const seconds = (ms: number): Double => ({ double: ms / 1_000 });

/** Milliseconds since the epoch; a number has no room for nanoseconds. */
export const nanosOf = (ms: number): string => `${BigInt(Math.round(ms)) * 1_000_000n}`;
