import { isDeepStrictEqual } from 'node:util';
import { isEmpty, omitUndefined } from '../../support/objects.ts';
import type { Json } from '../bytes/json.ts';
import type { ResponseFormat } from '../generation.ts';
import { closedSchema } from './closed-schema.ts';

type JsonSchemaFormat = Extract<ResponseFormat, { type: 'json-schema' }>;

/** Chat describes a schema next to it. */
const describedSchema = ({ description, schema }: JsonSchemaFormat): Json =>
  omitUndefined({ description, ...schema });

/** The schema as the vendor's structured mode takes it; undefined if the mode cannot express it. */
export const closedFormat = (format: JsonSchemaFormat): Json | undefined =>
  closedSchema(describedSchema(format));

/** Whether strict mode supports a tool's parameters, i.e. closing does not change them. */
export const isWithinStrict = (parameters: Json): boolean =>
  isDeepStrictEqual(closedSchema(parameters), parameters);

/** What asks a model for the format. */
export const formatInWords = (format: ResponseFormat): string =>
  format.type === 'json' || isEmpty(format.schema)
    ? 'Reply with one JSON object and nothing else.'
    : `Reply with JSON that fits this JSON Schema, and with nothing else:\n${JSON.stringify(describedSchema(format))}`;
