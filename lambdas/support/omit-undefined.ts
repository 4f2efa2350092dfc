type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** The same record without its undefined members: absent and undefined are one thing on every wire. */
export const omitUndefined = <T extends object>(record: T): Defined<T> =>
  Object.fromEntries(
    Object.entries(record).filter(([, value]) => value !== undefined),
  ) as Defined<T>;

export const isEmpty = (record: object): boolean => Object.keys(record).length === 0;
