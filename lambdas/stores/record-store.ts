import type { KindCosts } from '../money/cost.ts';

/** One call of a target. */
export type Attempt = {
  upstream: string;
  /** The provider's name of the model. */
  model: string;
  /** Milliseconds from the start of the request to the start of the attempt. */
  startedMs: number;
  /** Milliseconds to its first content, or to its failure. */
  ms: number;
  /** Milliseconds to its failure, if that came after its first content. */
  brokeMs?: number;
  /** Kind of the failure; absent if the target responded. */
  error?: string;
  /** HTTP status of the failure. */
  status?: number;
  /** The provider's cleaned words, at most 200 characters. */
  reason?: string;
  /** What a failed attempt had generated is billed too. */
  inputTokens?: number;
  outputTokens?: number;
  costNanos?: number;
  /** Labels of the target. */
  region?: string;
  retention?: string;
  /** What the provider stated of its limits: `requests/minute 59/60, tokens/minute 149984/150000`. */
  limits?: string;
};

/**
 * Why the last target, which is the first of those that could carry the request: `only` there is none else, or by its policy
 * (`require`); it is the first of the list (`order`), alone in its tier (`tier`), the session's by their weights, the fastest
 * or cheapest of the tier, or it served the `session` before. `waited`: when it had room in its quota; `failover`: after others.
 */
export type Choice =
  | 'only'
  | 'require'
  | 'order'
  | 'tier'
  | 'weight'
  | 'speed'
  | 'price'
  | 'session'
  | 'waited'
  | 'failover';
/** Why a target before it was not the one: its quota was used, it failed, or it was held off after failures. */
export type Passed = 'capacity' | 'failed' | 'held';

/** For whom a request was sent, as its caller named it: each in printable ASCII, all of it below 1 KB. */
export type Who = {
  /** The end user. */
  user?: string;
  session?: string;
  /** Of several agents in a session. */
  agent?: string;
  /** The program, without its version. */
  client?: string;
  /** At most five, as `name=value`. */
  tags?: string[];
};

/**
 * What happened to one generation request that took a unit. No prompt and no response: ids, names of the
 * catalog, kinds, counts and times.
 */
export type RequestRecord = {
  id: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** Duration in ms, to the end of the response. */
  ms: number;
  projectId: string;
  keyId: string;
  meterId: string;
  planId: string;
  /** UTC day in which the unit was taken; the history's day. */
  day: string;
  /** Label of the meter's period that holds the unit. */
  period: string;
  protocol: string;
  model: string;
  isStream: boolean;
  attempts: Attempt[];
  /** Why the last of them, of a model with several targets. */
  choice?: Choice;
  /** Those before it, by `upstream/model`. */
  passed?: [target: string, Passed][];
  /** What its model prefers, of each target with a figure: milliseconds to the first content, or dollars a million tokens. */
  compared?: Record<string, number>;
  /** What the plan required of them. */
  require?: { region?: string[]; retention?: string[] };
  /** From the admission to the first content. */
  firstContentMs?: number;
  /** The router's own estimate, for bodies of up to 64 KB and some larger ones. */
  estimatedInputTokens?: number;
  /** What it was made of, without a text: the numbers that a framing multiplies; if the provider counted too. */
  promptCounts?: number[];
  /** Includes what was read from and written to a cache. */
  inputTokens?: number;
  outputTokens?: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  /** Part of `cacheWriteTokens`: those of the longer lifetime. */
  cacheWriteLongTokens?: number;
  /** The provider's word for why a prompt was not read from its cache. */
  cacheMissReason?: string;
  /** Who marked the prefixes that the target caches, and why. */
  marking?: { by: 'caller' | 'router' | 'none'; why: string };
  /** Hash of the key and what the client names its session. */
  session?: string;
  /** Hashes of the prompt's parts (records/parts.ts), unreadable once a key has expired (records/seal.ts). */
  sealed?: string;
  who?: Who;
  /** Part of `outputTokens`. */
  reasoningTokens?: number;
  /** What the price depended on besides: tools that the provider ran, its tier, speed and region. */
  billing?: Record<string, unknown>;
  /** Cost of all attempts in billionths of a US dollar; of what is free for the caller too. */
  costNanos?: number;
  /** `estimated`: the provider did not send all its counts, because the response was not read to its end. */
  costSource?: 'stated' | 'priced' | 'estimated';
  /** What was billed and has no price in the catalog. */
  costIncomplete?: string[];
  /** Quantity and cost by kind, which add up to the priced cost. */
  costKinds?: KindCosts;
  /** Eight hexadecimal digits: the prices that were used. */
  priceVersion?: string;
  isCharged: boolean;
  outcome: 'finished' | 'abandoned' | 'failed';
  /** HTTP status that the caller got. */
  status: number;
  /** Kind of the last failure, or code of the caller's error. */
  error?: string;
  finish?: string;
  /** The response was ended early by the deadline. */
  isCut?: boolean;
  /** The history that the request carries ends in a loop. */
  isLoop?: boolean;
  /** The response ended well, and its charge could not be written: the unit is refunded. */
  isChargeLost?: boolean;
  /** Lambda's id of the invocation. */
  awsRequestId?: string;
  /** The caller's W3C trace context. */
  traceparent?: string;
};

/** Why a request took no unit. No text of the caller: names, numbers and the router's words. */
export type RefusedRequest = {
  id: string;
  startedAt: number;
  ms: number;
  /** Of its start. */
  day: string;
  /** Empty if the key is not known. */
  projectId: string;
  keyId?: string;
  /** What lists show of the key, if it has the format of one and is not known. */
  keyStart?: string;
  planId?: string;
  protocol: string;
  /** Its pattern; absent if the path is not known. */
  route?: string;
  model?: string;
  status: number;
  /** Of the error. */
  code?: string;
  param?: string;
  /** The error's message without what it quotes of the request. */
  text: string;
  /** Name and value of the limit, and what of it the request had. */
  rule?: string;
  limit?: number;
  value?: number | boolean;
  /** Seconds after which a retry may be admitted. */
  retryAfter?: number;
};

/** Requests of one environment that took no unit, of one key, model and status. */
export type Refusal = {
  keyId: string;
  meterId: string;
  /** Empty if the request was rejected before its model was known. */
  model: string;
  status: number;
  count: number;
};

/** Refusals of one project and UTC day. The id begins with the second of its first write, as ids of requests do. */
export type RefusalBatch = { id: string; projectId: string; day: string; refusals: Refusal[] };

/** Place in a list of records: the one that was listed last. */
export type RecordPlace = Pick<RequestRecord, 'day' | 'id'>;

/** Instants in ms, to the second; `from` is included, `to` is not. */
export type RecordRange = {
  projectId: string;
  from: number;
  to: number;
  /** Continues a list after this record. */
  before?: RecordPlace;
};

export type RecordEntry = { record: RequestRecord } | { batch: RefusalBatch };

/** Implemented by `createDynamoRecordStore` (stores/dynamo/record-store.ts). @throws StoreUnavailable */
export type RecordStore = {
  /** Idempotent by the id; a higher `revision` replaces a lower one, in whichever order they arrive. */
  putRecord(record: RequestRecord, revision: number): Promise<void>;
  /** Idempotent by the batch's id. */
  putRefusals(batch: RefusalBatch): Promise<void>;
  /** Idempotent by the id. It expires after a week. */
  putRefused(refused: RefusedRequest): Promise<void>;
  /** Undefined if the project has no such request, or its record has expired. */
  findRecord(projectId: string, id: string): Promise<RequestRecord | undefined>;
  /** The key of a period: that which was proposed first. */
  shareSealKey(period: number, proposed: { key: string; expiresAt: number }): Promise<string>;
  /** Undefined once it has expired. */
  findSealKey(period: number): Promise<string | undefined>;
  /** The same of a request that took no unit. */
  findRefused(projectId: string, id: string): Promise<RefusedRequest | undefined>;
  /** A project's refused requests by day and id, the newest first. */
  listRefused(range: RecordRange): AsyncGenerator<RefusedRequest, void, void>;
  /** A project's records by day and id, the newest first. */
  listRecords(range: RecordRange): AsyncGenerator<RequestRecord, void, void>;
  /** Whether `readDay` has anything; reads one entry. */
  hasEntries(projectId: string, day: string, from?: number): Promise<boolean>;
  /**
   * Everything that was written about a project's UTC day, strongly consistent, in pages; with `from` (ms) what
   * began in that second or later.
   */
  readDay(projectId: string, day: string, from?: number): AsyncGenerator<RecordEntry[], void, void>;
};
