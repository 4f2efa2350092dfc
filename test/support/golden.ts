import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { CallerProtocolName } from '../../lambdas/protocols/protocol.ts';
import { CALLER_PROTOCOLS } from '../../lambdas/protocols/protocol-name.ts';

const FIXTURES = fileURLToPath(new URL('../fixtures', import.meta.url));
/** `UPDATE_GOLDENS=1` writes what comes out now. Read the difference before it is committed. */
const isUpdating = process.env.UPDATE_GOLDENS === '1';

export const FAMILIES = CALLER_PROTOCOLS;

/** A folder of one case: what comes in, in one wire, and a golden for each wire it goes out in. */
export type Case = {
  name: string;
  from: CallerProtocolName;
  input: string;
  /** The text of a further file, where the case has one. */
  read(file: string): string | undefined;
  expectGolden(file: string, actual: string): void;
};

const readIfThere = (path: string): string | undefined =>
  existsSync(path) ? readFileSync(path, 'utf8') : undefined;

const openCase = (area: string, name: string, role: string, ending: string): Case => {
  const folder = join(FIXTURES, area, name);
  const read = (file: string) => readIfThere(join(folder, file));
  const inputs = FAMILIES.map((from) => ({ from, input: read(`${role}.${from}.${ending}`) }));
  const found = inputs.find(({ input }) => input !== undefined);
  if (found?.input === undefined) throw new Error(`${folder} has no ${role}.<wire>.${ending}`);
  return {
    name,
    from: found.from,
    input: found.input,
    read,
    expectGolden: (file, actual) => {
      if (isUpdating) writeFileSync(join(folder, file), actual);
      expect(actual).toBe(read(file));
    },
  };
};

/** The cases of one area, e.g. `streams`, whose input is `<role>.<wire>.<ending>`. */
export const casesOf = (area: string, role: string, ending: string): Case[] =>
  readdirSync(join(FIXTURES, area)).map((name) => openCase(area, name, role, ending));

export const toJsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
