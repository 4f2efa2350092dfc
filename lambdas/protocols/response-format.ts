import { omitUndefined } from '../support/objects.ts';
import type { Json } from './bytes/json.ts';
import type { ResponseFormat } from './generation.ts';

type WireFormat = {
  name?: string | undefined;
  description?: string | undefined;
  schema?: Json | undefined;
  strict?: boolean | undefined;
};

/** The format as chat and responses have it: chat holds the schema's members in one. */
export const decodeResponseFormat = (
  format: { type: string; json_schema?: WireFormat } & WireFormat,
): ResponseFormat | undefined => {
  if (format.type === 'json_object') return { type: 'json' };
  if (format.type !== 'json_schema') return undefined;
  const { name, description, schema = {}, strict } = format.json_schema ?? format;
  return { type: 'json-schema', schema, ...omitUndefined({ name, description, strict }) };
};
