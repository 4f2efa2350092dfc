type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Returns the record without its undefined members: JSON has no undefined. */
export const omitUndefined = <T extends object>(record: T): Defined<T> => {
  // Without lists of entries, which take three times as long: a request calls this a dozen times.
  const defined: Record<string, unknown> = {};
  for (const name in record) if (record[name] !== undefined) defined[name] = record[name];
  return defined as Defined<T>;
};

export const isEmpty = (record: object): boolean => {
  for (const _ in record) return false;
  return true;
};
