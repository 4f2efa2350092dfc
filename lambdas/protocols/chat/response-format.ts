import { omitUndefined } from '../../support/omit-undefined.ts';
import { asArray, asRecord, type Json } from '../bytes/json.ts';
import type { ResponseFormat } from '../generation.ts';
import type { ChatRequest } from './wire.ts';

export const decodeResponseFormat = (
  format: NonNullable<ChatRequest['response_format']>,
): ResponseFormat | undefined => {
  switch (format.type) {
    case 'json_object':
      return { type: 'json' };
    case 'json_schema': {
      const { name, description, schema = {}, strict } = format.json_schema;
      return { type: 'json-schema', schema, ...omitUndefined({ name, description, strict }) };
    }
    default:
      return undefined;
  }
};

// --- strict mode ---

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

/**
 * The messages protocol always enforces its schema, so its callers get strict mode if the schema
 * allows it.
 */
export const encodeResponseFormat = (format: ResponseFormat, sameProtocol: boolean): Json => {
  if (format.type === 'json') return { type: 'json_object' };
  const { name = 'output', description, schema } = format;
  const strict = format.strict ?? (!sameProtocol && isStrictSchema(schema));
  const wire = { name, description, schema, strict: strict || format.strict };
  return { type: 'json_schema', json_schema: omitUndefined(wire) };
};
