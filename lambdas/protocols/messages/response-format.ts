import { closedFormat, formatInWords } from '#late/crossing';
import { asRecord, type Json } from '../bytes/json.ts';
import type { Fitted } from '../fit-request.ts';
import type { GenerationRequest, ResponseFormat } from '../generation.ts';
import { instruct } from '../instructions.ts';
import { PATHS } from '../ledger/paths.ts';
import type { Profile } from '../profile.ts';

export const decodeResponseFormat = (format: unknown): ResponseFormat | undefined => {
  const schema = asRecord(asRecord(format)?.schema);
  return schema && { type: 'json-schema', schema };
};

/** Schemas of other protocols' callers may need closing; those of the same protocol are unchanged. */
const schemaOf = ({ responseFormat: format, extras }: GenerationRequest): Json | undefined => {
  if (format?.type !== 'json-schema') return undefined;
  return extras.protocol === 'messages' ? format.schema : closedFormat(format);
};

export const encodeResponseFormat = (request: GenerationRequest): Json | undefined => {
  const schema = schemaOf(request);
  return schema && { type: 'json_schema', schema };
};

/** Instructs the model if the format is plain JSON, a schema that structured mode cannot express, or the target has no such mode. */
export const fitFormat = (request: GenerationRequest, { hintsWithout }: Profile): Fitted => {
  const { responseFormat: format, ...rest } = request;
  if (format === undefined) return { request, dropped: [] };
  const isTaken = hintsWithout?.includes('output_format') !== true;
  if (isTaken && schemaOf(request) !== undefined) return { request, dropped: [] };
  return {
    request: instruct(isTaken ? request : rest, formatInWords(format)),
    dropped: isTaken || format.type === 'json' ? [] : [PATHS[request.extras.protocol].format],
  };
};
