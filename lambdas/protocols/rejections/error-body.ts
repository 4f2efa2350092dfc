import { asRecord, asString, type Json } from '../bytes/json.ts';
import {
  exceedsLimitAlone,
  isAboutInput,
  type LastingKind,
  lastingKindIn,
  overflowIn,
} from './meanings.ts';
import {
  detailsIn,
  innermost,
  innerWords,
  MAX_TEXT,
  type ProviderText,
  pathIn,
  readRecord,
  readTexts,
} from './provider-text.ts';
import type { Overflow } from './upstream-error.ts';
import { waitIn } from './wait.ts';

/** What an upstream's 4xx body means, in the router's words. */
export type ErrorMeaning = {
  kind: 'context-overflow' | LastingKind | 'status';
  overflow?: Overflow | undefined;
  /** Paths of the parameters that the error may be about, e.g. `tools[0].function`. */
  paths: string[];
  /** Whether the error is about what the request contains, e.g. a prompt that the provider flagged. */
  isAboutInput: boolean;
  /** How long the provider asks to wait, where its body states it. */
  retryAfterSeconds?: number | undefined;
  /** The name of the field that the provider states apart from its message. */
  param?: string | undefined;
  /** The provider's message, or its code. Private: it may quote the request, see reason.ts. */
  words: string | undefined;
};

/** Statuses that reject the request itself; a 429 may use the words of an overflow for a rate limit. */
const REJECTING = [400, 413, 422];

const RATE_LIMITED = 429;

/** Statuses with which providers report a lasting failure; one above 499 may end without the operator. */
const LASTING = [400, 402, 403, 404, 412, 422, 429];

/** `temperature: range: 0..1`, `output_config.format: …` */
const LEADING = /^([a-z_]+)((?:[.[][^\s:]*)?): /;
/** `Unsupported parameter: 'temperature' is not …`, also with a path after the name. */
const QUOTED = /['"`]([a-z_]+)((?:[.[][^'"`\s]*)?)['"`]/g;

const pathsInMessage = (message: string): string[] => {
  const leading = LEADING.exec(message);
  const found = leading ? [leading] : [...message.matchAll(QUOTED)];
  return found.map(([, name = '', rest = '']) => `${name}${rest}`);
};

/** The paths that the error may be about, by their names in the upstream's protocol. */
const rejectedPaths = (record: Json): string[] => {
  const error = asRecord(record.error) ?? record;
  const { message, param } = error;
  return [
    ...(asString(param) ? [String(param).slice(0, MAX_TEXT)] : []),
    ...(typeof message === 'string' ? pathsInMessage(message.slice(0, MAX_TEXT)) : []),
    ...detailsIn(record).flatMap((detail) => pathIn(detail) || []),
  ];
};

/** A 401 is about the credential and a 402 about money, with any body. */
const BY_STATUS: Record<number, LastingKind> = { 401: 'credential-refused', 402: 'no-quota' };

/** In any words a 404 that is not about the request is about the path or the model. */
const otherKindOf = (status: number, isOfInput: boolean) =>
  status === 404 && !isOfInput ? 'unknown-model' : 'status';

const kindOf = (status: number, texts: ProviderText): ErrorMeaning['kind'] =>
  BY_STATUS[status] ??
  (LASTING.includes(status) ? lastingKindIn(texts) : undefined) ??
  otherKindOf(status, isAboutInput(texts));

/** A server that does not have the path answers 404, usually with a page. */
const withoutRecord = (status: number): ErrorMeaning => {
  const kind = BY_STATUS[status] ?? otherKindOf(status, false);
  return { kind, paths: [], isAboutInput: false, words: undefined };
};

const interpret = (status: number, record: Json, now: number): ErrorMeaning => {
  const texts = readTexts(record);
  const [message = texts.codes[0]] = texts.messages;
  const words = message && innerWords(message);
  const overflowing = REJECTING.includes(status) ? overflowIn(texts) : undefined;
  if (overflowing) {
    return { kind: 'context-overflow', ...overflowing, paths: [], isAboutInput: true, words };
  }
  return {
    kind: kindOf(status, texts),
    paths: rejectedPaths(innermost(record)),
    isAboutInput: isAboutInput(texts) || (status === RATE_LIMITED && exceedsLimitAlone(texts)),
    retryAfterSeconds: waitIn(record, texts.messages, now),
    param: asString(asRecord(innermost(record).error)?.param),
    words,
  };
};

/** Interprets an upstream's error body by its message and code fields. A body that is not JSON has none. */
export const interpretErrorBody = (status: number, body: string, now: number): ErrorMeaning => {
  const record = readRecord(body);
  return record ? interpret(status, record, now) : withoutRecord(status);
};

/**
 * Types, codes and statuses that vendors and gateways name their errors by, with the HTTP status of the same error outside of a
 * 200 response. In lower case and without underscores: spellings differ.
 */
const NAMES: [status: number, ...names: string[]][] = [
  [400, 'invalidrequesterror', 'badrequesterror', 'contextlengthexceeded', 'invalidprompt'],
  [400, 'invalidargument', 'failedprecondition', 'validationexception'],
  [401, 'authenticationerror', 'unauthenticated'],
  [402, 'billingerror'],
  [403, 'permissionerror', 'permissiondenied', 'accessdeniedexception'],
  [404, 'notfounderror', 'notfound', 'resourcenotfoundexception'],
  [413, 'requesttoolarge'],
  [RATE_LIMITED, 'ratelimiterror', 'ratelimitexceeded', 'ratelimited', 'ratelimitreached'],
  [RATE_LIMITED, 'toomanyrequests', 'resourceexhausted', 'throttlingexception'],
  [RATE_LIMITED, 'insufficientquota'],
  [503, 'unavailable', 'serverisoverloaded', 'slowdown', 'serviceunavailableexception'],
  [529, 'overloadederror'],
];
const STATUS_OF_NAME = new Map(
  NAMES.flatMap(([status, ...names]) => names.map((name) => [name, status] as const)),
);

/** Codes of MiniMax (platform.minimax.io/docs/api-reference/errorcode) whose class is known, by their status. */
const MINIMAX: [status: number, ...codes: number[]][] = [
  // Sensitive or invisible characters of the input, and parameters.
  [400, 1026, 1042, 2013],
  [401, 1004, 2049],
  [402, 1008],
  // Requests, tokens, connections, their growth, and the window of a plan.
  [RATE_LIMITED, 1002, 1039, 1041, 2045, 2056],
];

/** The status of MiniMax's code, which other providers use for other errors. */
const statusOfMiniMax = ({ base_resp }: Json): number | undefined => {
  const code = Number(asRecord(base_resp)?.status_code);
  return MINIMAX.find(([, ...codes]) => codes.includes(code))?.[0];
};

/** A number, its text or a name; the `valueOf` of an object may be anything. */
const statusOf = (stated: unknown): number => {
  if (typeof stated === 'number') return stated;
  const text = asString(stated) ?? '';
  return STATUS_OF_NAME.get(text.toLowerCase().replaceAll('_', '')) ?? Number(text);
};

/** Statuses that mean more than that the upstream failed. */
const TELLING: readonly number[] = [...STATUS_OF_NAME.values(), ...REJECTING];

/** The status that an error inside a 200 response would have had, if it means more than a failure of the upstream. */
const statedStatus = (sent: Json): number | undefined => {
  const error = asRecord(sent.error) ?? sent;
  const { code, status, type, __type, error_type } = error;
  return (
    statusOfMiniMax(error) ??
    [code, status, type, __type, error_type].map(statusOf).find((each) => TELLING.includes(each))
  );
};

/**
 * Interprets an error that a 200 response contains. One that rejects the request, or is about a limit, the load or the account,
 * means what the same error means with its status; any other is a failure of the upstream.
 */
export const interpretSentError = (
  sent: Json,
  now: number,
): Partial<ErrorMeaning> & Pick<ErrorMeaning, 'words'> & { status?: number } => {
  const status = statedStatus(sent);
  if (status !== undefined) return { status, ...interpret(status, sent, now) };
  const { messages, codes } = readTexts(sent);
  return { words: messages[0] ?? codes[0] };
};
