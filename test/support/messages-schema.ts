import * as z from 'zod';

/** The part of the messages family that this router writes; sdk-types.test.ts holds it to the SDK's types. */
const Tokens = z.int().nonnegative();
const OutputDetails = z.object({ thinking_tokens: Tokens });
/** What the vendor states of its own services is sent as it came: of the SDK's type if the upstream keeps to it. */
const given = <Value>(type: 'object' | 'string') =>
  z.custom<Value>((value) => value !== null && typeof value === type).nullable();

const DeltaUsage = z.object({
  input_tokens: Tokens,
  output_tokens: Tokens,
  cache_creation_input_tokens: Tokens.nullable(),
  cache_read_input_tokens: Tokens.nullable(),
  output_tokens_details: OutputDetails.nullable(),
  server_tool_use: given<{ web_search_requests: number; web_fetch_requests: number }>('object'),
  iterations: z.array(z.unknown()).optional(),
});

const Skill = z.object({
  skill_id: z.string(),
  type: z.enum(['anthropic', 'custom']),
  version: z.string(),
});
const Container = z.object({
  id: z.string(),
  expires_at: z.string(),
  skills: z.array(Skill).nullable(),
});
/** What a beta adds to the end of a message. */
const Edits = { context_management: z.looseObject({}).optional() };

const MessageUsage = DeltaUsage.extend({
  cache_creation: given<{ ephemeral_5m_input_tokens: number; ephemeral_1h_input_tokens: number }>(
    'object',
  ),
  inference_geo: z.string().nullable(),
  service_tier: given<'standard' | 'priority' | 'batch'>('string'),
  speed: given<'standard' | 'fast'>('string'),
});

const StopReason = z.enum([
  'end_turn',
  'max_tokens',
  'stop_sequence',
  'tool_use',
  'pause_turn',
  'refusal',
  'model_context_window_exceeded',
]);
const StopDetails = z.object({
  type: z.literal('refusal'),
  category: z.enum(['cyber', 'bio']).nullable(),
  explanation: z.string().nullable(),
});
const Stop = {
  container: Container.nullable(),
  stop_details: StopDetails.nullable(),
  stop_sequence: z.string().nullable(),
};

const ToolId = z.string().regex(/^[a-zA-Z0-9_-]+$/);

const TextBlock = z.object({ type: z.literal('text'), text: z.string() });
const ThinkingBlock = z.object({
  type: z.literal('thinking'),
  thinking: z.string(),
  signature: z.string(),
});
const RedactedBlock = z.object({ type: z.literal('redacted_thinking'), data: z.string() });
const ToolUseBlock = z.object({
  type: z.literal('tool_use'),
  id: ToolId,
  name: z.string().min(1),
  input: z.record(z.string(), z.unknown()),
  caller: z.looseObject({ type: z.string() }).optional(),
});

/** Blocks of tools that an upstream runs itself, and kinds to come: they pass as they came. */
const OtherBlock = z.looseObject({
  type: z.string().regex(/^(?!(text|thinking|redacted_thinking|tool_use)$)./),
});
/** Their deltas, and citations. */
const OtherDelta = z.looseObject({
  type: z.string().regex(/^(?!(text|thinking|input_json)_delta$)./),
});

/** Why a prompt's cache was not reused. */
const CacheMiss = z.union([
  z.object({
    type: z.enum(['model_changed', 'system_changed', 'tools_changed', 'messages_changed']),
    cache_missed_input_tokens: Tokens,
  }),
  z.object({ type: z.enum(['previous_message_not_found', 'unavailable']) }),
]);

const Opening = {
  id: z.string().startsWith('msg_'),
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: z.string().min(1),
  diagnostics: z.object({ cache_miss_reason: CacheMiss.nullable() }).nullable(),
  input_transformations: z.array(z.looseObject({ type: z.string() })).optional(),
  usage: MessageUsage,
};

const Block = z.union([
  TextBlock.extend({ citations: z.array(z.looseObject({ type: z.string() })).optional() }),
  ThinkingBlock,
  RedactedBlock,
  ToolUseBlock,
]);

export const WholeMessage = z.object({
  ...Opening,
  ...Stop,
  ...Edits,
  stop_reason: StopReason,
  content: z.array(z.union([Block, OtherBlock])),
});

const MessageStart = z.object({
  type: z.literal('message_start'),
  message: z.object({
    ...Opening,
    container: z.null(),
    stop_details: z.null(),
    stop_reason: z.null(),
    stop_sequence: z.null(),
    content: z.tuple([]),
  }),
});
const BlockStart = z.object({
  type: z.literal('content_block_start'),
  index: Tokens,
  content_block: z.union([TextBlock, ThinkingBlock, RedactedBlock, ToolUseBlock]),
});
const BlockDelta = z.object({
  type: z.literal('content_block_delta'),
  index: Tokens,
  delta: z.union([
    z.object({ type: z.literal('text_delta'), text: z.string() }),
    z.object({ type: z.literal('thinking_delta'), thinking: z.string() }),
    z.object({ type: z.literal('signature_delta'), signature: z.string().min(1) }),
    z.object({ type: z.literal('input_json_delta'), partial_json: z.string() }),
  ]),
});
const BlockStop = z.object({ type: z.literal('content_block_stop'), index: Tokens });
const MessageDelta = z.object({
  type: z.literal('message_delta'),
  delta: z.object({ ...Stop, stop_reason: StopReason }),
  ...Edits,
  usage: DeltaUsage,
});
const MessageStop = z.object({ type: z.literal('message_stop') });

/** Kinds of events to come: they pass as they came, as members to come do. */
const OtherEvent = z.looseObject({
  type: z.string().regex(/^(?!(?:message|content_block)_(?:start|delta|stop)$|ping$|error$)./),
});

/** The events that the official SDK has types for. */
export const TypedEvent = z.union([
  MessageStart,
  BlockStart,
  BlockDelta,
  BlockStop,
  MessageDelta,
  MessageStop,
]);

export const MessagesError = z.strictObject({
  type: z.literal('error'),
  error: z.strictObject({
    type: z.string().min(1),
    message: z.string().min(1),
    details: z.strictObject({ error_code: z.string() }).optional(),
  }),
  request_id: z.string().startsWith('req_'),
});

/** Every event that a caller of the family may read. */
export const MessagesEvent = z.union([
  TypedEvent,
  OtherEvent,
  // A stop reason of the SDK's beta types.
  MessageDelta.extend({
    delta: z.object({ ...Stop, stop_reason: z.literal('compaction') }),
  }),
  z.object({
    type: z.literal('content_block_start'),
    index: Tokens,
    content_block: OtherBlock,
  }),
  z.object({
    type: z.literal('content_block_delta'),
    index: Tokens,
    delta: OtherDelta,
  }),
  z.object({ type: z.literal('ping') }),
  MessagesError,
]);
