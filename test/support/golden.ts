import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { CallerProtocolName, ProtocolName } from '../../lambdas/protocols/protocol.ts';
import { CALLER_PROTOCOLS } from '../../lambdas/protocols/protocol-name.ts';
import { WIRES } from './wires.ts';

const FIXTURES = fileURLToPath(new URL('../fixtures', import.meta.url));
/** `UPDATE_GOLDENS=1` writes what comes out now. Read the difference before it is committed. */
const isUpdating = process.env.UPDATE_GOLDENS === '1';

/** Who reads a response, and who is sent a request. */
export const CALLERS = CALLER_PROTOCOLS;
export const UPSTREAMS = WIRES;

/** A folder of one case: what comes in, in one wire, and a golden for each wire it goes out in. */
export type Case<From extends ProtocolName = CallerProtocolName> = {
  name: string;
  from: From;
  input: string;
  /** The text of a further file, where the case has one. */
  read(file: string): string | undefined;
  expectGolden(file: string, actual: string): void;
};

const readIfThere = (path: string): string | undefined =>
  existsSync(path) ? readFileSync(path, 'utf8') : undefined;

const openCase = <From extends ProtocolName>(
  area: string,
  name: string,
  { role, ending, families }: { role: string; ending: string; families: readonly From[] },
): Case<From> => {
  const folder = join(FIXTURES, area, name);
  const read = (file: string) => readIfThere(join(folder, file));
  const inputs = families.map((from) => ({ from, input: read(`${role}.${from}.${ending}`) }));
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

const openAll = <From extends ProtocolName>(
  area: string,
  options: { role: string; ending: string; families: readonly From[] },
): Case<From>[] => readdirSync(join(FIXTURES, area)).map((name) => openCase(area, name, options));

/** The requests of callers. */
export const requestCases = (): Case[] =>
  openAll('requests', { role: 'request', ending: 'json', families: CALLERS });

/** What upstreams send: `streams`, whose files end in `sse`, or `responses`, in `json`. */
export const upstreamCases = (area: 'streams' | 'responses', ending: string) =>
  openAll(area, { role: 'upstream', ending, families: UPSTREAMS });

export type UpstreamCase = ReturnType<typeof upstreamCases>[number];

export const toJsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
