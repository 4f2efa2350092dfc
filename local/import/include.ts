import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { isRecord } from '../../lambdas/support/objects.ts';
import type { Source } from './read-source.ts';

type Part = { source: Source; value: Record<string, unknown> };

const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0);

/** Lists are added to those of the files before, other values replace them, as LiteLLM does. */
const merged = (parts: Part[]): Record<string, unknown> => {
  const all: Record<string, unknown> = {};
  for (const [name, value] of parts.flatMap((part) => Object.entries(part.value))) {
    const before = all[name];
    all[name] = Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
  }
  return all;
};

/** Where a value of the whole is: an item of a list is counted through the files. */
const placeIn =
  (parts: Part[], main: Source): Source['at'] =>
  ([name = '', index, ...rest]) => {
    const owners = parts.filter(({ value }) => Object.hasOwn(value, name));
    if (typeof index !== 'number') {
      return (owners.at(-1)?.source ?? main).at(
        index === undefined ? [name] : [name, index, ...rest],
      );
    }
    let first = 0;
    for (const { source, value } of owners) {
      const length = lengthOf(value[String(name)]);
      if (index < first + length) return source.at([name, index - first, ...rest]);
      first += length;
    }
    return main.at([name]);
  };

/** A configuration with the files that its `include` names. @throws UsageError with the first that is not YAML */
export const readWithIncluded = async (
  file: string,
  read: (file: string) => Promise<Source>,
): Promise<Source> => {
  const main = await read(file);
  if (!isRecord(main.value)) return main;
  const { include, ...value } = main.value;
  const names = Array.isArray(include) ? include.filter((name) => typeof name === 'string') : [];
  if (names.length === 0) return main;
  const paths = names.map((name) => resolve(dirname(file), name));
  const sources = await Promise.all(paths.filter((path) => existsSync(path)).map(read));
  const absent = names
    .filter((_, index) => !existsSync(paths[index] ?? ''))
    .map((name) => ({
      place: `include ${name}`,
      reason: 'there is no such file next to this one',
    }));
  const parts = [
    { source: main, value },
    ...sources.map((source) => ({ source, value: isRecord(source.value) ? source.value : {} })),
  ];
  return {
    file,
    value: merged(parts),
    at: placeIn(parts, main),
    notes: [...absent, ...[main, ...sources].flatMap(({ notes }) => notes)],
  };
};
