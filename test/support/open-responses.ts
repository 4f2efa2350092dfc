import { readFileSync } from 'node:fs';
import * as z from 'zod';

type Schema = z.core.JSONSchema.JSONSchema;

/** The published schema of Open Responses; its source and licence are its first member. */
const { $defs }: { $defs: Record<string, Schema> } = JSON.parse(
  readFileSync(new URL('../fixtures/open-responses.json', import.meta.url), 'utf8'),
);

const judge = (name: string) => {
  const type = z.fromJSONSchema({ $ref: `#/$defs/${name}`, $defs });
  return (value: unknown): string[] =>
    (type.safeParse(value).error?.issues ?? []).map(
      ({ path, message }) => `${name}.${path.join('.')}: ${message}`,
    );
};

/** What is wrong with a response, by the specification. */
export const faultsOfResponse = judge('ResponseResource');

/** The one value that a definition, or the one that it refers to, allows. */
const constantOf = (definition: Schema | boolean | undefined): unknown => {
  if (typeof definition !== 'object') return undefined;
  const name = definition.$ref?.split('/').at(-1);
  return name === undefined ? definition.enum?.[0] : constantOf($defs[name]);
};

/** The specification's events by their type. */
const EVENTS = new Map(
  Object.entries($defs).flatMap(([name, { properties }]) =>
    name.endsWith('StreamingEvent') ? [[constantOf(properties?.type), judge(name)] as const] : [],
  ),
);

/** Whether the specification has events of the type. */
export const isSpecified = (type: unknown): boolean => EVENTS.has(type);

/** What is wrong with an event of a stream, by the specification. */
export const faultsOfEvent = (event: { type: unknown }): string[] =>
  EVENTS.get(event.type)?.(event) ?? [`no event has the type ${event.type}`];
