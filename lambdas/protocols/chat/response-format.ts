import { compact } from '../../support/compact.ts';
import type { ResponseFormat } from '../generation.ts';
import { asArray, asRecord, type Json } from '../json.ts';
import type { ChatRequest } from './wire.ts';

export const decodeResponseFormat = (
  format: ChatRequest['response_format'],
): ResponseFormat | undefined => {
  switch (format?.type) {
    case 'json_object':
      return { type: 'json' };
    case 'json_schema': {
      const { name, schema, strict } = format.json_schema;
      return { type: 'json-schema', schema: schema ?? {}, ...compact({ name, strict }) };
    }
    default:
      return undefined;
  }
};

/** Keywords beyond what strict mode knows; a schema with one of them is sent without it. */
const BEYOND = ['oneOf', 'allOf', 'not', 'if', 'patternProperties', 'dependentSchemas'];

const isClosed = (schema: Json): boolean => {
  const properties = Object.keys(asRecord(schema.properties) ?? {});
  const required = asArray(schema.required);
  const isObject = schema.type === 'object' || properties.length > 0;
  return (
    !isObject ||
    (schema.additionalProperties === false && properties.every((name) => required.includes(name)))
  );
};

/** The vendor's strict mode wants closed objects with every property required, all the way down. */
const isStrict = (value: unknown): boolean => {
  const schema = asRecord(value);
  if (!schema || BEYOND.some((keyword) => keyword in schema) || !isClosed(schema)) return false;
  const inner = [
    ...Object.values(asRecord(schema.properties) ?? {}),
    ...Object.values(asRecord(schema.$defs) ?? {}),
    ...asArray(schema.anyOf),
    ...(schema.items === undefined ? [] : [schema.items]),
  ];
  return inner.every(isStrict);
};

/** The other family always generates by its schema, so its callers get strict mode where they can. */
export const encodeResponseFormat = (
  format: ResponseFormat | undefined,
  isOwn: boolean,
): Json | undefined => {
  if (format === undefined) return undefined;
  if (format.type === 'json') return { type: 'json_object' };
  const { name, schema } = format;
  const strict = format.strict ?? (!isOwn && schema.type === 'object' && isStrict(schema));
  const wire = { name: name ?? 'output', schema, strict: strict || format.strict };
  return { type: 'json_schema', json_schema: compact(wire) };
};
