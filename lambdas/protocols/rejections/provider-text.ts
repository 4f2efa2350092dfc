import { asArray, asRecord, type Json, readJson } from '../bytes/json.ts';

/** Read of a message or code; a longer text is an echo of the request. */
export const MAX_TEXT = 2_048;

/** Message and code fields of an error, by the names that providers use; echoed values are in other fields. */
export type ProviderText = { messages: string[]; codes: string[] };

const textIn = (value: unknown): string[] =>
  typeof value === 'string' && value !== '' ? [value.slice(0, MAX_TEXT)] : [];

/** The error's record; Gemini wraps it in an array. */
export const readRecord = (body: string): Json | undefined => {
  const value = readJson(body);
  return asRecord(value) ?? asRecord(asArray(value)[0]);
};

/** The items of `{ detail: [{ loc: ["body", "temperature"], msg: "…" }] }`, the format of FastAPI servers. */
export const detailsIn = (record: Json): Json[] => {
  const error = asRecord(record.error) ?? record;
  const details = asRecord(error.message)?.detail ?? error.detail;
  return asArray(details).flatMap((item): Json[] => {
    const detail = asRecord(item);
    return detail ? [detail] : [];
  });
};

/** The path of a field from such an item. */
export const pathIn = ({ loc }: Json): string =>
  asArray(loc)
    .slice(1)
    .filter((part) => typeof part !== 'object')
    .join('.');

/** `temperature: Input should be less than or equal to 1.5` */
const detailText = (detail: Json): string[] => {
  const path = pathIn(detail);
  return textIn(detail.msg).map((text) =>
    path === '' ? text : `${path}: ${text}`.slice(0, MAX_TEXT),
  );
};

/** The error of the provider behind a gateway, which OpenRouter sends as text of JSON; else the error itself. */
export const innermost = (record: Json): Json => {
  const { raw } = asRecord(asRecord(record.error)?.metadata) ?? {};
  return (typeof raw === 'string' ? readRecord(raw) : undefined) ?? record;
};

/** Google's machine-readable reasons, e.g. `API_KEY_INVALID`, and Anthropic's, e.g. `enforced_spend_limit_reached`. */
const reasonsIn = ({ details }: Json): string[] => [
  ...asArray(details).flatMap((detail) => textIn(asRecord(detail)?.reason)),
  ...textIn(asRecord(details)?.error_code),
];

/** Of a list of errors, which Cloudflare sends, the first one. */
const errorIn = ({ error, detail, errors }: Json): Json => {
  const details = asRecord(detail);
  const known = [error, details?.error, details, asArray(errors)[0]];
  return known.map(asRecord).find((each) => each !== undefined) ?? {};
};

/** `message` by the names of other servers: of AWS, Baidu and others in Asia, MiniMax. */
const otherMessages = ({ Message, msg, error_msg, base_resp }: Json): unknown[] => [
  ...[Message, msg, error_msg, asRecord(base_resp)?.status_msg],
];

const ownTexts = (record: Json): ProviderText => {
  const error = errorIn(record);
  const { message, error: flat, detail } = record;
  return {
    messages: [
      ...[error.message, message, flat, detail, asRecord(detail)?.error].flatMap(textIn),
      ...[...otherMessages(error), ...otherMessages(record)].flatMap(textIn),
      ...detailsIn(record).flatMap(detailText),
    ],
    codes: [
      ...[error.error_code, error.code, error.type, error.status].flatMap(textIn),
      ...[record.code, record.type, record.error_type].flatMap(textIn),
      ...reasonsIn(error),
    ],
  };
};

/** Reads an error's texts; those of the provider behind a gateway first, because they are the reason. */
export const readTexts = (record: Json): ProviderText => {
  const [inner, outer] = [ownTexts(innermost(record)), ownTexts(record)];
  return {
    messages: [...inner.messages, ...outer.messages],
    codes: [...inner.codes, ...outer.codes],
  };
};

/**
 * The message of the error that a gateway quotes as JSON in its own, which is the reason; else the text. Never evidence of a
 * lasting failure: the JSON may be an echo of the request.
 */
export const innerWords = (text: string): string => {
  const start = text.indexOf('{');
  const quoted =
    start === -1 ? undefined : readRecord(text.slice(start, text.lastIndexOf('}') + 1));
  const [message] = quoted ? ownTexts(quoted).messages : [];
  return message === undefined ? text : innerWords(message);
};
