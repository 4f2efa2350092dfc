import { asArray, asRecord, asString, type Json, readJsonObject } from './json.ts';
import type { Overflow } from './upstream-error.ts';

/** The meanings of an upstream's 4xx body that reach the caller, in the router's words. */
type ErrorMeaning =
  | { kind: 'context-overflow'; overflow: Overflow | undefined }
  /** `fields`: the parameters that the error may be about. */
  | { kind: 'other'; fields: string[] };

// --- context overflow ---

/**
 * Texts of upstreams for a prompt that is too long. Their wording differs, their status is 400 or
 * 413. It is the one upstream error whose meaning must reach the caller: agents compact their
 * history on it.
 */
const OVERFLOW_TEXTS = [
  /context_length_exceeded/i,
  /maximum context length/i,
  /prompt is too long/i,
  /context (?:window|length|limit)/i,
  /exceeds? the (?:model'?s )?(?:maximum )?(?:number of )?(?:input )?tokens/i,
  /too many (?:input )?tokens/i,
  /input is too long/i,
  /context size/i,
  /maximum prompt length/i,
  /exceeded model token limit/i,
  /range of input length/i,
  /prompt exceeds max length/i,
  /`inputs` tokens/i,
];

/** The two numbers in those texts, in either order. */
const OVERFLOW_NUMBERS = [
  /(?<tokens>\d+) tokens > (?<limit>\d+) maximum/,
  /maximum context length is (?<limit>\d+) tokens.*?(?:resulted in|requested) (?<tokens>\d+) tokens/s,
  /token count \((?<tokens>\d+)\) exceeds [^(]*\((?<limit>\d+)\)/,
  /maximum prompt length is (?<limit>\d+) but the request contains (?<tokens>\d+)/,
  /token limit: (?<limit>\d+) \(requested: (?<tokens>\d+)\)/,
  /contains (?<tokens>\d+) tokens.*?model with (?<limit>\d+) maximum/s,
];

/** The two numbers; undefined if the upstream does not give both, or they show no overflow. */
const readOverflow = (body: string): Overflow | undefined => {
  for (const pattern of OVERFLOW_NUMBERS) {
    const { tokens, limit } = pattern.exec(body)?.groups ?? {};
    const overflow = { tokens: Number(tokens), most: Number(limit) };
    if (overflow.tokens > overflow.most) return overflow;
  }
  return undefined;
};

// --- rejected fields ---

/** Fields that the router rewrites for each upstream: an error about one may be the router's bug. */
const REWRITTEN = new Set(['model', 'messages', 'system', 'stream', 'stream_options']);

/** `temperature: range: 0..1`, `output_config.format: …` */
const LEADING = /^([a-z_]+)(?:[.[][^\s:]*)?: /;
/** `Unsupported parameter: 'temperature' is not …`, also with a path after the name. */
const QUOTED = /['"`]([a-z_]+)(?:[.[][^'"`\s]*)?['"`]/g;

const fieldsInMessage = (message: string): string[] => {
  const leading = LEADING.exec(message)?.[1];
  return leading ? [leading] : [...message.matchAll(QUOTED)].map(([, name = '']) => name);
};

/** `{ detail: [{ loc: ["body", "temperature"] }] }`, the format of FastAPI servers. */
const fieldsInDetail = (detail: unknown): string[] =>
  asArray(detail).flatMap((item) => asString(asArray(asRecord(item)?.loc)[1]) ?? []);

const fieldsInError = (error: Json): string[] => {
  const param = asString(error.param);
  if (param) return [param.split(/[.[]/)[0] ?? ''];
  const { message } = error;
  return typeof message === 'string'
    ? fieldsInMessage(message)
    : fieldsInDetail(asRecord(message)?.detail ?? error.detail);
};

/** The parameters that the error may be about, by their names in the upstream's protocol. */
const refusedFields = (body: string): string[] => {
  const record = readJsonObject(body);
  if (!record) return [];
  const fields = fieldsInError(asRecord(record.error) ?? record);
  return fields.filter((field) => !REWRITTEN.has(field));
};

/** Interprets an upstream's 4xx body; its text is neither logged nor sent to the caller. */
export const interpretErrorBody = (body: string): ErrorMeaning =>
  OVERFLOW_TEXTS.some((pattern) => pattern.test(body))
    ? { kind: 'context-overflow', overflow: readOverflow(body) }
    : { kind: 'other', fields: refusedFields(body) };
