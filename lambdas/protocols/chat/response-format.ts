import { omitUndefined } from '../../support/omit-undefined.ts';
import type { ResponseFormat } from '../generation.ts';
import type { Json } from '../json.ts';
import { isStrictSchema } from './strict-schema.ts';
import type { ChatRequest } from './wire.ts';

export const decodeResponseFormat = (
  format: ChatRequest['response_format'],
): ResponseFormat | undefined => {
  switch (format?.type) {
    case 'json_object':
      return { type: 'json' };
    case 'json_schema': {
      const { name, schema, strict } = format.json_schema;
      return { type: 'json-schema', schema: schema ?? {}, ...omitUndefined({ name, strict }) };
    }
    default:
      return undefined;
  }
};

/** The other family always generates by its schema, so its callers get strict mode where they can. */
export const encodeResponseFormat = (
  format: ResponseFormat | undefined,
  isOwn: boolean,
): Json | undefined => {
  if (format === undefined) return undefined;
  if (format.type === 'json') return { type: 'json_object' };
  const { name, schema } = format;
  const strict = format.strict ?? (!isOwn && isStrictSchema(schema));
  const wire = { name: name ?? 'output', schema, strict: strict || format.strict };
  return { type: 'json_schema', json_schema: omitUndefined(wire) };
};
