import type { Extras } from './generation.ts';
import type { Json } from './json.ts';
import type { ProtocolName } from './protocol-name.ts';

/** Wire fields that `protocol` alone understands, as they were, without nulls. */
export const makeExtras = (protocol: ProtocolName, fields: Json): Extras => ({
  protocol,
  fields: Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)),
});

/** `{ extras }` when there is something to carry, else nothing: most blocks have none. */
export const extrasIfAny = (protocol: ProtocolName, fields: Json): { extras?: Extras } => {
  const extras = makeExtras(protocol, fields);
  return Object.keys(extras.fields).length > 0 ? { extras } : {};
};

/** The fields that came over `protocol` and go back out to it; none where another one's came. */
export const extraFieldsFor = (protocol: ProtocolName, extras: Extras | undefined): Json =>
  extras?.protocol === protocol ? extras.fields : {};
