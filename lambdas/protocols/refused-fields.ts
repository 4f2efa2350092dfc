import { asArray, asRecord, asString, type Json, readJsonObject } from './json.ts';

/** What this router writes anew for each upstream: a refusal of it may be the router's own fault. */
const REWRITTEN = new Set(['model', 'messages', 'system', 'stream', 'stream_options']);

/** `temperature: range: 0..1`, `output_config.format: …` */
const LEADING = /^([a-z_]+)(?:[.[][^\s:]*)?: /;
/** `Unsupported parameter: 'temperature' is not …`, also with a path behind the name. */
const QUOTED = /['"`]([a-z_]+)(?:[.[][^'"`\s]*)?['"`]/g;

const fromMessage = (message: string): string[] => {
  const leading = LEADING.exec(message)?.[1];
  return leading ? [leading] : [...message.matchAll(QUOTED)].map(([, name = '']) => name);
};

/** `{ detail: [{ loc: ["body", "temperature"] }] }`, as servers of FastAPI have it. */
const fromDetail = (detail: unknown): string[] =>
  asArray(detail).flatMap((item) => asString(asArray(asRecord(item)?.loc)[1]) ?? []);

const fromError = (error: Json): string[] => {
  const param = asString(error.param);
  if (param) return [param.split(/[.[]/)[0] ?? ''];
  const { message } = error;
  return typeof message === 'string'
    ? fromMessage(message)
    : fromDetail(asRecord(message)?.detail ?? error.detail);
};

/** The parameters that an upstream's refusal may be about, by their names on its own wire. */
export const refusedFields = (body: string): string[] => {
  const record = readJsonObject(body);
  if (!record) return [];
  const fields = fromError(asRecord(record.error) ?? record);
  return fields.filter((field) => !REWRITTEN.has(field));
};
