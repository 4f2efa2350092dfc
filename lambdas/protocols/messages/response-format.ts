import { isDeepStrictEqual } from 'node:util';
import { closedSchema } from '#late/crossing';
import { isEmpty, omitUndefined } from '../../support/objects.ts';
import { asRecord, type Json } from '../bytes/json.ts';
import type { GenerationRequest, ResponseFormat } from '../generation.ts';
import { instruct } from '../instructions.ts';

type JsonSchemaFormat = Extract<ResponseFormat, { type: 'json-schema' }>;

export const decodeResponseFormat = (format: unknown): ResponseFormat | undefined => {
  const schema = asRecord(asRecord(format)?.schema);
  return schema && { type: 'json-schema', schema };
};

/** Chat describes a schema next to it. */
const describedSchema = ({ description, schema }: JsonSchemaFormat): Json =>
  omitUndefined({ description, ...schema });

/** Schemas of other protocols' callers may need closing; those of the same protocol are unchanged. */
const schemaOf = ({ responseFormat: format, extras }: GenerationRequest): Json | undefined => {
  if (format?.type !== 'json-schema') return undefined;
  return extras.protocol === 'messages' ? format.schema : closedSchema(describedSchema(format));
};

export const encodeResponseFormat = (request: GenerationRequest): Json | undefined => {
  const schema = schemaOf(request);
  return schema && { type: 'json_schema', schema };
};

/** Whether strict mode supports a tool's parameters, i.e. closing does not change them. */
export const isWithinStrict = (parameters: Json): boolean =>
  isDeepStrictEqual(closedSchema(parameters), parameters);

const instructionFor = (format: ResponseFormat): string =>
  format.type === 'json' || isEmpty(format.schema)
    ? 'Reply with one JSON object and nothing else.'
    : `Reply with JSON that fits this JSON Schema, and with nothing else:\n${JSON.stringify(describedSchema(format))}`;

/** Instructs the model if the format is plain JSON or a schema that structured mode cannot express. */
export const withInstruction = (request: GenerationRequest): GenerationRequest => {
  const { responseFormat: format } = request;
  return format === undefined || schemaOf(request) !== undefined
    ? request
    : instruct(request, instructionFor(format));
};
