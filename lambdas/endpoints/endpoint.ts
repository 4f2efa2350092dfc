import type { Identity } from '../keys/authenticate.ts';
import type { RequestFields } from '../log-events.ts';
import type { Settlement } from '../metering/admission.ts';
import type { JsonSource } from '../protocols/bytes/json.ts';
import type { CallerHeaders, CallerProtocol, HeaderMap } from '../protocols/protocol.ts';
import type { MessageBatches } from '../protocols/streams/sse.ts';

/** A request as an endpoint gets it: authenticated, its body parsed, independent of AWS. */
export type Call = Identity & {
  requestId: string;
  /** Lambda's id of the invocation; undefined on other hosts. */
  awsRequestId: string | undefined;
  /** The caller's W3C trace context, if it is well-formed. */
  traceparent: string | undefined;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** The protocol of the path; it shapes responses and errors. */
  protocol: CallerProtocol;
  /** Parsed JSON of the body, with the model of the path; undefined for GET. */
  body: unknown;
  /** The same as it was sent; empty for GET. */
  source: JsonSource;
  headers: CallerHeaders;
  /** Value of a header; `name` in lower case. */
  header(name: string): string | undefined;
  /** The part of the path that a route captured, percent-decoded. */
  pathParameter: string | undefined;
  /** Parameters of the query, decoded. */
  query: Readonly<Record<string, string>>;
  /** Aborts when the client disconnects (never on Lambda, which does not report it). */
  signal: AbortSignal;
  /** Milliseconds until the platform ends this process's work on the request. */
  remainingMs(): number;
  /** Fields of the access log line so far. */
  readonly notes: Readonly<Partial<RequestFields>>;
  note(fields: Partial<RequestFields>): void;
  /** Called when the request of a generation has its unit. @default nothing is called */
  onAdmitted?: () => void;
  /** Wraps what keeps the response, for a part that keeps it too. @default it is not wrapped */
  keepWith?: (keeper: Keeper | undefined) => Keeper;
};

export type JsonReply = { status: number; headers?: HeaderMap; body: Record<string, unknown> };
/** A body that is JSON text already, so that encoding cannot fail once the unit is charged. */
export type EncodedReply = {
  status: number;
  headers?: HeaderMap;
  json: string;
  /** Work of the request that continues behind its response: no process is frozen before it. */
  after?: Promise<void>;
};
/** A page, a script or a style; its `content-type` is one of the headers. */
export type TextReply = { status: number; headers: HeaderMap; text: string };
/** A stream in batches, one write each. It never throws: a failure is its last message. */
export type StreamReply = { status: number; headers?: HeaderMap; messages: MessageBatches };
export type Reply = JsonReply | EncodedReply | TextReply | StreamReply;

export type Cost = Pick<Settlement, 'isFree' | 'isEmpty'>;

/** Keeps the response of one request, before its last bytes are sent. */
export type Keeper = {
  /** Passes a stream on while recording it; its end waits for the store. A failure is not stored. */
  keepStream(messages: MessageBatches, cost: Cost): MessageBatches;
  keepWhole(reply: EncodedReply, cost: Cost): Promise<EncodedReply>;
};

/** What a route does. Endpoints return values; only http/ writes. @throws ApiError */
export type Endpoint = (call: Call) => Promise<Reply>;
