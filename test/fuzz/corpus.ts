import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { UpstreamProtocolName } from '../../lambdas/protocols/protocol.ts';

const FIXTURES = fileURLToPath(new URL('../fixtures', import.meta.url));

/** A text of one wire that is known to be understood, or refused, as it should be. */
export type Sample = { name: string; wire: UpstreamProtocolName; text: string };

const SIDE = /^(?:request|upstream)\.(?<wire>chat|messages)\.(?:json|sse)$/;

const samplesOf = (area: string): Sample[] =>
  readdirSync(join(FIXTURES, area)).flatMap((name) =>
    readdirSync(join(FIXTURES, area, name)).flatMap((file) => {
      const wire = SIDE.exec(file)?.groups?.wire;
      if (wire !== 'chat' && wire !== 'messages') return [];
      return [{ name, wire, text: readFileSync(join(FIXTURES, area, name, file), 'utf8') }];
    }),
  );

/** What the tables of cases ask, and what they answer: the best seeds that there are. */
export const requestSamples = samplesOf('requests');
export const streamSamples = samplesOf('streams');
export const responseSamples = samplesOf('responses');
