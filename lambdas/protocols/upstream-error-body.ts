import { asArray, asRecord, asString, type Json, readJson } from './json.ts';
import type { Overflow } from './upstream-error.ts';

/** The meanings of an upstream's 4xx body that reach the caller, in the router's words. */
type ErrorMeaning =
  | { kind: 'context-overflow'; overflow: Overflow | undefined }
  /** `fields`: the parameters that the error may be about. */
  | { kind: 'other'; fields: string[] };

// --- the provider's words ---

/** Read of a message or code; a longer text is an echo of the request. */
const MAX_TEXT = 2_048;

const textIn = (value: unknown): string[] =>
  typeof value === 'string' ? [value.slice(0, MAX_TEXT)] : [];

/** The opening quote of anything but a name, e.g. `'temperature'`; not an apostrophe or a closing quote. */
const QUOTED_ECHO = /(?<![\w\]])['"`](?![\w.[\]/-]{1,64}['"`])/;
/** The words before an echo that is not quoted, e.g. `Invalid value for logit_bias: …`. */
const BEFORE_ECHO =
  /\b(?:invalid|unknown|unsupported|unrecognized|unexpected) (?:value|parameter|argument|type|field|key)\b[^:]{0,80}:/i;

/**
 * The part of a message that the provider wrote: the text before the first value that it echoes. A prompt
 * about context lengths must not turn another error into an overflow, on which agents discard history.
 */
const ownWords = (message: string): string => {
  const ends = [QUOTED_ECHO, BEFORE_ECHO].flatMap((echo) => echo.exec(message)?.index ?? []);
  return message.slice(0, Math.min(message.length, ...ends));
};

type ProviderText = { messages: string[]; codes: string[] };

/** Message and code fields, by the names that providers use; echoed values are in other fields. */
const readTexts = (record: Json): ProviderText => {
  const error = asRecord(record.error) ?? {};
  return {
    messages: [error.message, record.message, record.error, record.detail]
      .flatMap(textIn)
      .map(ownWords),
    codes: [error.code, error.type, record.code, record.type, record.error_type].flatMap(textIn),
  };
};

// --- context overflow ---

/** Codes of upstreams for a prompt that is too long. */
const OVERFLOW_CODE =
  /^(?:context_length_exceeded|exceed_context_size_error|invalid_request_prompt_too_long)$/;

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

/** The two numbers in those texts, in either order. Every repetition is bounded: linear on any text. */
const OVERFLOW_NUMBERS = [
  /\b(?<tokens>\d{1,12}) tokens > (?<limit>\d{1,12}) maximum/,
  /maximum context length is (?<limit>\d{1,12}) tokens.{0,80}?(?:resulted in|requested) (?<tokens>\d{1,12}) tokens/s,
  /token count \((?<tokens>\d{1,12})\) exceeds [^(]{0,80}\((?<limit>\d{1,12})\)/,
  /maximum prompt length is (?<limit>\d{1,12}) but the request contains (?<tokens>\d{1,12})/,
  /token limit: (?<limit>\d{1,12}) \(requested: (?<tokens>\d{1,12})\)/,
  /contains (?<tokens>\d{1,12}) tokens.{0,80}?model with (?<limit>\d{1,12}) maximum/s,
];

/** The two numbers; undefined if the upstream does not give both, or they show no overflow. */
const readOverflow = (message: string): Overflow | undefined => {
  for (const pattern of OVERFLOW_NUMBERS) {
    const { tokens, limit } = pattern.exec(message)?.groups ?? {};
    const overflow = { tokens: Number(tokens), most: Number(limit) };
    if (overflow.tokens > overflow.most) return overflow;
  }
  return undefined;
};

const isOverflow = ({ messages, codes }: ProviderText): boolean =>
  codes.some((code) => OVERFLOW_CODE.test(code)) ||
  messages.some((message) => OVERFLOW_TEXTS.some((pattern) => pattern.test(message)));

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
  if (param) return [param.slice(0, MAX_TEXT).split(/[.[]/)[0] ?? ''];
  const { message } = error;
  return typeof message === 'string'
    ? fieldsInMessage(message.slice(0, MAX_TEXT))
    : fieldsInDetail(asRecord(message)?.detail ?? error.detail);
};

/** The parameters that the error may be about, by their names in the upstream's protocol. */
const refusedFields = (record: Json): string[] =>
  fieldsInError(asRecord(record.error) ?? record).filter((field) => !REWRITTEN.has(field));

/** The error's record; Gemini wraps it in an array. */
const readRecord = (body: string): Json | undefined => {
  const value = readJson(body);
  return asRecord(value) ?? asRecord(asArray(value)[0]);
};

/**
 * Interprets an upstream's 4xx body by its message and code fields; its text is neither logged nor sent to
 * the caller. A body that is not JSON means nothing.
 */
export const interpretErrorBody = (body: string): ErrorMeaning => {
  const record = readRecord(body);
  if (!record) return { kind: 'other', fields: [] };
  const texts = readTexts(record);
  if (!isOverflow(texts)) return { kind: 'other', fields: refusedFields(record) };
  const [overflow] = texts.messages.flatMap((message) => readOverflow(message) ?? []);
  return { kind: 'context-overflow', overflow };
};
