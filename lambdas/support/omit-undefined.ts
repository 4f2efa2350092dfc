type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Returns the record without its undefined members: JSON has no undefined. */
export const omitUndefined = <T extends object>(record: T): Defined<T> =>
  Object.fromEntries(
    Object.entries(record).filter(([, value]) => value !== undefined),
  ) as Defined<T>;

export const isEmpty = (record: object): boolean => Object.keys(record).length === 0;
