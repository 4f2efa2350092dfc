import { asArray, asRecord, type Json } from '../bytes/json.ts';
import { without } from '../ledger/extras.ts';
import type { Profile } from '../profile.ts';

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

export const NO_ARGUMENTS = { type: 'object', properties: {} };

/** OpenAI rejects an object's schema without `properties`, even if it has none, and LM Studio one without a type. */
export const asObjectSchema = (schema: Json): Json => {
  const isWhole = schema.type === 'object' ? schema.properties !== undefined : schema.type;
  return isWhole ? schema : { ...NO_ARGUMENTS, ...schema };
};

/** Members of a JSON Schema whose members are names, not keywords. */
const MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];

/** Keywords whose members are values of the caller's. */
const VALUES = ['default', 'const', 'enum', 'examples'];

/** A schema without some keywords, each of which is added to `removed`. */
const withoutKeywords = (schema: unknown, keywords: readonly string[], removed: Set<string>) => {
  const walk = (value: unknown): unknown => withoutKeywords(value, keywords, removed);
  if (Array.isArray(schema)) return schema.map(walk);
  const record = asRecord(schema);
  if (!record) return schema;
  for (const name of keywords) if (record[name] !== undefined) removed.add(name);
  return Object.fromEntries(
    Object.entries(without(record, keywords)).map(([name, value]) => {
      const named = MAPS.includes(name) ? asRecord(value) : undefined;
      if (!named) return [name, VALUES.includes(name) ? value : walk(value)];
      return [
        name,
        Object.fromEntries(Object.entries(named).map(([key, one]) => [key, walk(one)])),
      ];
    }),
  );
};

/** A schema without the keywords that the provider rejects: the model then follows the descriptions. */
export const fitSchema = (schema: Json, { schemaWithout }: Profile, removed = new Set<string>()) =>
  schemaWithout === undefined
    ? schema
    : (asRecord(withoutKeywords(schema, schemaWithout, removed)) ?? {});
