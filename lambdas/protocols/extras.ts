import type { Extras } from './generation.ts';
import type { Json } from './json.ts';
import type { ProtocolName } from './protocol-name.ts';

/** Fields that only `protocol` has, unchanged, without nulls. */
export const makeExtras = (protocol: ProtocolName, fields: Json): Extras => ({
  protocol,
  fields: Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)),
});

/** `{ extras }` if there are fields, else `{}`: most blocks have none. */
export const extrasIfAny = (protocol: ProtocolName, fields: Json): { extras?: Extras } => {
  const extras = makeExtras(protocol, fields);
  return Object.keys(extras.fields).length > 0 ? { extras } : {};
};

/** The fields for encoding to `protocol`; none if they came from another protocol. */
export const extraFieldsFor = (protocol: ProtocolName, extras: Extras | undefined): Json =>
  extras?.protocol === protocol ? extras.fields : {};
