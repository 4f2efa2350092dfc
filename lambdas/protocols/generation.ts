/**
 * The canonical form of requests and responses, on one page. Ordered blocks, not the shape of any
 * protocol, so that no content of a protocol is lost in translation (docs/decisions/0001).
 */
import type { Place } from './bytes/frame.ts';
import type { Json } from './bytes/json.ts';
import type { CallerProtocolName, ProtocolName } from './protocol-name.ts';

/** Fields that only one protocol has; they are encoded again for that protocol only. */
export type Extras<Name extends ProtocolName = ProtocolName> = {
  protocol: Name;
  fields: Record<string, unknown>;
};

export type MediaSource =
  | { kind: 'base64'; mediaType: string; data: string }
  | { kind: 'url'; url: string };

/** `refusal` marks the text in which a model declined; chat has a separate field for it. */
export type TextBlock = { type: 'text'; text: string; refusal?: true; extras?: Extras };
/** `signature` proves the thinking to the upstream that wrote it; redacted thinking has no text. */
export type ThinkingBlock = {
  type: 'thinking';
  text: string;
  signature?: string;
  redacted?: true;
  extras?: Extras;
};
export type ImageBlock = { type: 'image'; source: MediaSource; extras?: Extras };
export type DocumentBlock = {
  type: 'document';
  source: MediaSource | { kind: 'text'; text: string };
  title?: string;
  extras?: Extras;
};
/**
 * `arguments` is the JSON text of the model, unchanged; an empty string means no arguments. Of a `custom`
 * tool it is the free text that such a tool takes.
 */
export type ToolCallBlock = {
  type: 'tool-call';
  id: string;
  name: string;
  arguments: string;
  custom?: true;
  extras?: Extras;
};
export type ToolResultBlock = {
  type: 'tool-result';
  callId: string;
  content: Block[];
  isError?: boolean;
  extras?: Extras;
};
/** A block that only `protocol` has (`value` is its wire form), e.g. audio or server tool use. */
export type NativeBlock = {
  type: 'native';
  protocol: ProtocolName;
  value: Record<string, unknown>;
};

export type Block =
  | TextBlock
  | ThinkingBlock
  | ImageBlock
  | DocumentBlock
  | ToolCallBlock
  | ToolResultBlock
  | NativeBlock;

/** One message. System turns keep their place in the conversation. */
export type Turn = { role: 'system' | 'user' | 'assistant'; blocks: Block[]; extras?: Extras };

export type Tool = {
  name: string;
  description?: string;
  /** JSON Schema of the arguments. */
  parameters: Record<string, unknown>;
  strict?: boolean;
  /** Takes one free text; `description` and `parameters` are those of the function that represents it elsewhere. */
  custom?: TextInput;
  extras?: Extras;
};
/** What a custom tool says of its text. */
export type TextInput = { description?: string; grammar?: Record<string, unknown> };
/** A tool that only `protocol` has, e.g. one that the vendor runs; `value` is its wire form. */
export type NativeTool = { native: true; protocol: ProtocolName; value: Record<string, unknown> };

/** `only` limits the choice to some of the tools. */
export type ToolChoice =
  | { type: 'auto' | 'required'; only?: string[] }
  | { type: 'none' }
  | { type: 'tool'; name: string };

export type ResponseFormat =
  | { type: 'json' }
  | {
      type: 'json-schema';
      schema: Record<string, unknown>;
      name?: string;
      description?: string;
      strict?: boolean;
    };

export type Reasoning = {
  /** `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`; open for new levels. */
  effort?: string;
  /** Cap on thinking tokens, if the protocol has one. */
  budgetTokens?: number;
  /** `thinking.type` of the messages protocol; absent on chat. */
  mode?: 'enabled' | 'adaptive' | 'disabled' | 'between_tools';
};

/** One request for one generation, validated, independent of any protocol. */
export type GenerationRequest = {
  /** Catalog id, verbatim from the caller. */
  model: string;
  turns: Turn[];
  stream: boolean;
  /** The vendor cannot stream what the request asks for, e.g. audio as a file. */
  isWhole?: true;
  /** How many responses are generated; absent: one. Only chat has several. */
  choices?: number;
  maxTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  stop?: string[];
  tools?: (Tool | NativeTool)[];
  /** Of `tools` those that items of the conversation add; absent: none. */
  addedTools?: Tool[];
  toolChoice?: ToolChoice;
  parallelToolCalls?: boolean;
  responseFormat?: ResponseFormat;
  reasoning?: Reasoning;
  /** Opaque end-user id (`user`, `metadata.user_id`). */
  user?: string;
  /** Betas that the caller's headers ask for; only the messages protocol has them. */
  betas?: string[];
  /** Other headers of the caller that only targets of its protocol understand. */
  headers?: Record<string, string>;
  /** Whose thinking in the history is sent (thinking/origin.ts); absent: that of every origin. */
  thinkingFrom?: string;
  /** Fields that chat has too, with its names and forms, from a caller of another protocol. */
  chatFields?: Record<string, unknown>;
  /** What the router asks for in words, because the target has no member for it; at the end of the user's last turn. */
  instructions?: string[];
  /** What caches of the target may know the caller's session by; absent: it names none. */
  cacheKey?: string;
  /** The caller rejects what the router would add for caches. */
  isUnmarked?: true;
  /** Of the caller's protocol. */
  extras: Extras<CallerProtocolName>;
};

/** Token counts. `inputTokens` includes the tokens read from and written to a cache. */
export type Usage = {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  /** Part of `cacheWriteTokens`: those of the longer lifetime; absent if the upstream does not state lifetimes. */
  cacheWriteLongTokens?: number;
  /** Why a prompt was not read from the cache, in the upstream's word. */
  cacheMissReason?: string;
  /** Part of `outputTokens`. */
  reasoningTokens?: number;
  /** What the upstream billed the tokens as, where chat states it. */
  serviceTier?: string;
  /** The name of thinking in a response of chat, where it is not `reasoning_content`. */
  thinkingName?: 'reasoning';
  billing?: Billing;
};

/** What a price depends on besides: it is counted, and sent to no caller of another protocol. */
export type Billing = {
  serviceTier?: string;
  speed?: string;
  geo?: string;
  /** Of tools that the upstream ran, by name. */
  uses?: Record<string, number>;
  /** Parts of `inputTokens` and of `outputTokens`. */
  inputAudioTokens?: number;
  inputImageTokens?: number;
  outputAudioTokens?: number;
  /** Of each summary that the upstream made of the conversation, which are not part of the counts. */
  compactions?: Usage[];
  /** The cost that the upstream states, in billionths of a US dollar. */
  statedNanos?: number;
};

export type FinishReason = {
  unified: 'stop' | 'stop-sequence' | 'length' | 'tool-calls' | 'content-filter';
  /** The protocol's value, for callers of the same protocol. */
  raw?: { protocol: ProtocolName; value: string };
  /** The stop sequence that ended the response, if the upstream reports it. */
  stopSequence?: string;
  /** Where the vendor ran code; its id is the operator's at one upstream, as a signature is. */
  container?: Json;
};

export type BlockHead =
  | { type: 'text'; refusal?: true }
  | { type: 'thinking'; redacted?: true }
  | { type: 'tool-call'; id: string; name: string; custom?: true; extras?: Extras }
  | NativeBlock;

/**
 * A message of a stream as the upstream sent it, for a caller of the same protocol: it is relayed with edits (relay.ts).
 * The `count` events that it was decoded to share it.
 */
export type Received = {
  data: string;
  /** Undefined if it is not JSON, or was recognized by its frame. */
  value?: Json | undefined;
  count: number;
  /** Messages of one frame differ in one string only: that between `start` and `end`. */
  place?: Place | undefined;
};

/**
 * A generation as a stream. Well-formed by construction (event-writer.ts): `start` once and first;
 * block indices 0, 1, 2 … in order of their start; deltas of open blocks may interleave; every block
 * ends before `finish`; `finish` once and last. A failure is a throw, never an event.
 */
export type GenerationEvent = { received?: Received } & (
  | { type: 'start'; usage?: Partial<Usage> }
  /** `choice`: which of several responses the block belongs to; absent: the first. */
  | { type: 'block-start'; index: number; block: BlockHead; choice?: number }
  | { type: 'block-delta'; index: number; delta: string }
  | { type: 'block-end'; index: number; signature?: string }
  /** A message that shows nothing of the response, except to a caller of the same protocol. */
  | { type: 'aside' }
  /**
   * `others`: the reasons of the responses after the first. `isEmpty`: the upstream ended the response
   * properly, without any content and with no reason for that. `body`: the whole response of the caller's own protocol.
   */
  | {
      type: 'finish';
      reason: FinishReason;
      others?: FinishReason[];
      usage: Usage | undefined;
      citations?: Citation[];
      isEmpty?: true;
      body?: Body;
    }
);

/**
 * A page that a response cites. `start` and `end` are the place of what it supports, in characters of the block or, without a
 * `block`, in bytes of all text; absent: the whole block.
 */
export type Citation = { url: string; title: string; block?: number; start?: number; end?: number };

/** A whole response in the upstream's protocol: its text, or what the messages of its stream add up to. */
export type Body = { text?: string; value: Json };

export type EventOf<T extends GenerationEvent['type']> = Extract<GenerationEvent, { type: T }>;

/** A block of a response. */
export type AnswerBlock = (TextBlock | ThinkingBlock | ToolCallBlock | NativeBlock) & {
  choice?: number;
};

/** A whole response: the sum of a stream's events. */
export type Generation = {
  blocks: AnswerBlock[];
  reason: FinishReason;
  others?: FinishReason[];
  usage: Usage | undefined;
  citations?: Citation[];
  body?: Body;
};

/** Metadata of a response: the router's id and clock, the catalog's model id. */
export type ResponseMeta = {
  /** The request id without its prefix; protocols add theirs. */
  id: string;
  model: string;
  /** Unix seconds, of the response and at the time of the call. */
  created: number;
  now(): number;
  /** Estimates the request's tokens, for a protocol that needs usage before the upstream reports it. */
  estimateInput(): number;
};
