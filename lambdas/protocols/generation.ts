/**
 * The canonical form: what both protocols mean, on one page. Ordered blocks, not the shape of either
 * wire, so that nothing a wire can say is lost on the way through (docs/decisions/0001).
 */
import type { ProtocolName } from './protocol-name.ts';

/** What only one protocol understands. It rides along and goes back out to that protocol only. */
export type Extras = { protocol: ProtocolName; fields: Record<string, unknown> };

export type MediaSource =
  | { kind: 'base64'; mediaType: string; data: string }
  | { kind: 'url'; url: string };

/** `refusal` marks the words in which a model declined; one wire has a field of its own for them. */
export type TextBlock = { type: 'text'; text: string; refusal?: true; extras?: Extras };
/** `signature` proves the thinking to the upstream that wrote it; a redacted one has nothing else. */
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
/** `arguments` stays JSON text as the model wrote it; an empty string means no arguments. */
export type ToolCallBlock = {
  type: 'tool-call';
  id: string;
  name: string;
  arguments: string;
  extras?: Extras;
};
export type ToolResultBlock = {
  type: 'tool-result';
  callId: string;
  content: Block[];
  isError?: boolean;
  extras?: Extras;
};
/** A block that only `protocol` knows (`value` is its wire form), e.g. audio or server tool use. */
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

/** One wire message. System turns keep their place in the conversation. */
export type Turn = { role: 'system' | 'user' | 'assistant'; blocks: Block[]; extras?: Extras };

export type Tool = {
  name: string;
  description?: string;
  /** JSON Schema of the arguments. */
  parameters: Record<string, unknown>;
  strict?: boolean;
  extras?: Extras;
};
/** A tool that only `protocol` defines (server tools, custom tools); `value` is its wire form. */
export type NativeTool = { native: true; protocol: ProtocolName; value: Record<string, unknown> };

/** `only` narrows the choice to some of the tools. */
export type ToolChoice =
  | { type: 'auto' | 'required'; only?: string[] }
  | { type: 'none' }
  | { type: 'tool'; name: string };

export type ResponseFormat =
  | { type: 'json' }
  | { type: 'json-schema'; schema: Record<string, unknown>; name?: string; strict?: boolean };

export type Reasoning = {
  /** `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`; open for new levels. */
  effort?: string;
  /** Cap on thinking tokens, where the wire names one. */
  budgetTokens?: number;
  /** The messages wire's `thinking.type`; absent on chat. */
  mode?: 'enabled' | 'adaptive' | 'disabled';
};

/** One request for one generation, checked and free of wire spelling. */
export type GenerationRequest = {
  /** Catalog id, verbatim from the caller. */
  model: string;
  turns: Turn[];
  stream: boolean;
  maxTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  stop?: string[];
  tools?: (Tool | NativeTool)[];
  toolChoice?: ToolChoice;
  parallelToolCalls?: boolean;
  responseFormat?: ResponseFormat;
  reasoning?: Reasoning;
  /** Opaque end-user id (`user`, `metadata.user_id`). */
  user?: string;
  extras: Extras;
};

/** Token counts. `inputTokens` includes what was read from and written to a cache. */
export type Usage = {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  /** Part of `outputTokens`. */
  reasoningTokens?: number;
  extras?: Extras;
};

export type FinishReason = {
  unified: 'stop' | 'stop-sequence' | 'length' | 'tool-calls' | 'content-filter';
  /** The wire's own word, given back to the same protocol. */
  raw?: { protocol: ProtocolName; value: string };
  /** Which stop sequence ended it, where the upstream says. */
  stopSequence?: string;
  extras?: Extras;
};

export type BlockHead =
  | { type: 'text'; refusal?: true }
  | { type: 'thinking'; redacted?: true }
  | { type: 'tool-call'; id: string; name: string; extras?: Extras }
  | NativeBlock;

/**
 * A generation as it happens. Well-formed by construction (see event-writer.ts): `start` once and first;
 * block indices 0, 1, 2 … in order of their start; deltas of open blocks may interleave; every block ends
 * before `finish`; `finish` once and last. A failure is a throw, never an event.
 */
export type GenerationEvent =
  | { type: 'start'; usage?: Partial<Usage> }
  | { type: 'block-start'; index: number; block: BlockHead }
  | { type: 'block-delta'; index: number; delta: string }
  /** A delta that only one protocol knows: citations, log probabilities, parts of a native block. */
  | { type: 'block-extra'; index: number; extras: Extras }
  | { type: 'block-end'; index: number; signature?: string }
  | { type: 'finish'; reason: FinishReason; usage: Usage | undefined };

/** A block of an answer. `extra` holds, in order, the deltas that only one protocol knows. */
export type AnswerBlock = (TextBlock | ThinkingBlock | ToolCallBlock | NativeBlock) & {
  extra?: Extras[];
};

/** A whole answer: what the events of a stream add up to. */
export type Generation = {
  blocks: AnswerBlock[];
  reason: FinishReason;
  usage: Usage | undefined;
};

/** How the answer is labelled towards the caller: our id, the catalog's model id, our clock. */
export type ResponseMeta = {
  /** Opaque; protocols put their own prefix before it. */
  id: string;
  model: string;
  /** Unix seconds. */
  created: number;
  /** Estimate of the request's tokens, for wires that must state usage before the upstream does. */
  estimatedInputTokens: number;
};
