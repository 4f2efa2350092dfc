import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CALLER_PROTOCOLS } from '../../lambdas/protocols/protocol-name.ts';
import { WIRES, type Wire } from '../support/wires.ts';

const FIXTURES = fileURLToPath(new URL('../fixtures', import.meta.url));

/** A text of one wire that is known to be understood, or refused, as it should be. */
export type Sample<W extends Wire = Wire> = {
  name: string;
  wire: W;
  text: string;
};

const SIDE = /^(?:request|upstream)\.(?<wire>\w+)\.(?:json|sse)$/;

const samplesOf = <W extends Wire>(area: string, wires: readonly W[]): Sample<W>[] =>
  readdirSync(join(FIXTURES, area)).flatMap((name) =>
    readdirSync(join(FIXTURES, area, name)).flatMap((file) => {
      const side = SIDE.exec(file)?.groups?.wire;
      const wire = wires.find((one) => one === side);
      if (wire === undefined) return [];
      return [{ name, wire, text: readFileSync(join(FIXTURES, area, name, file), 'utf8') }];
    }),
  );

/** What the tables of cases ask, and what they answer: the best seeds that there are. */
export const requestSamples = samplesOf('requests', CALLER_PROTOCOLS);
export const streamSamples = samplesOf('streams', WIRES);
export const responseSamples = samplesOf('responses', WIRES);
