import { omitUndefined } from '../../support/omit-undefined.ts';
import type { Json } from '../bytes/json.ts';
import type { ResponseFormat } from '../generation.ts';
import { isStrictSchema } from '../tools/strict-schema.ts';

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
