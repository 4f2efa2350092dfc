import { asArray, asRecord, type Json } from '../bytes/json.ts';

/** Keywords that strict mode does not support; a schema with one of them is sent without it. */
const UNSUPPORTED = ['oneOf', 'allOf', 'not', 'if', 'patternProperties', 'dependentSchemas'];

const isClosed = (schema: Json): boolean => {
  const properties = Object.keys(asRecord(schema.properties) ?? {});
  const required = new Set(asArray(schema.required));
  const isObject = schema.type === 'object' || properties.length > 0;
  return (
    !isObject ||
    (schema.additionalProperties === false && properties.every((name) => required.has(name)))
  );
};

const isStrict = (value: unknown): boolean => {
  const schema = asRecord(value);
  if (!schema || UNSUPPORTED.some((keyword) => keyword in schema) || !isClosed(schema))
    return false;
  const inner = [
    ...Object.values(asRecord(schema.properties) ?? {}),
    ...Object.values(asRecord(schema.$defs) ?? {}),
    ...asArray(schema.anyOf),
    ...(schema.items === undefined ? [] : [schema.items]),
  ];
  return inner.every(isStrict);
};

/** The vendor's strict mode requires closed objects, with every property required, at all levels. */
export const isStrictSchema = (schema: Json): boolean =>
  schema.type === 'object' && isStrict(schema);
