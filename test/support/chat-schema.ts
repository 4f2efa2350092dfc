import * as z from 'zod';

/** The part of the chat family's published schema that this router writes: required and nullable as there. */
const LogProbs = z.looseObject({ content: z.array(z.unknown()).nullable() });
const FinishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call']);
/** Counts beyond the vendor's: every one is a number of tokens. */
const Tokens = z.int().nonnegative();
const Usage = z
  .object({
    prompt_tokens: z.int().nonnegative(),
    completion_tokens: z.int().nonnegative(),
    total_tokens: z.int().nonnegative(),
    prompt_tokens_details: z
      .object({ cached_tokens: z.int().optional(), cache_write_tokens: z.int().optional() })
      .catchall(Tokens)
      .optional(),
    completion_tokens_details: z.record(z.string(), Tokens).optional(),
  })
  .catchall(Tokens);

const Envelope = {
  id: z.string().startsWith('chatcmpl-'),
  created: z.int(),
  model: z.string().min(1),
};
/** Fields of providers that are passed on. */
const List = z.array(z.unknown()).optional();
const ResponseFields = {
  service_tier: z.string().optional(),
  system_fingerprint: z.string().optional(),
  citations: List,
  search_results: List,
  related_questions: List,
};
const MessageFields = { annotations: List, reasoning_details: List, images: List };

/** A provider's own field, which it wants to see again in the next request. */
const Extension = { extra_content: z.unknown().optional() };

const ToolCall = z.strictObject({
  id: z.string().min(1),
  type: z.literal('function'),
  function: z.strictObject({ name: z.string().min(1), arguments: z.string() }),
  ...Extension,
});

export const ChatCompletion = z.strictObject({
  ...Envelope,
  ...ResponseFields,
  object: z.literal('chat.completion'),
  choices: z.tuple([
    z.strictObject({
      index: z.literal(0),
      finish_reason: FinishReason,
      logprobs: LogProbs.nullable(),
      message: z.strictObject({
        role: z.literal('assistant'),
        content: z.string().nullable(),
        refusal: z.string().nullable(),
        tool_calls: z.array(ToolCall).min(1).optional(),
        // Beyond the vendor: the name by which the family's other servers and its clients know it.
        reasoning_content: z.string().optional(),
        ...MessageFields,
      }),
    }),
  ]),
  usage: Usage,
});

const ToolFragment = z.strictObject({
  index: z.int().nonnegative(),
  id: z.string().min(1).optional(),
  type: z.literal('function').optional(),
  function: z.strictObject({
    name: z.string().min(1).optional(),
    arguments: z.string().optional(),
  }),
  ...Extension,
});

const Delta = z.strictObject({
  role: z.literal('assistant').optional(),
  content: z.string().nullable().optional(),
  refusal: z.string().nullable().optional(),
  tool_calls: z.array(ToolFragment).min(1).optional(),
  reasoning_content: z.string().optional(),
});

const ChunkEnvelope = { ...Envelope, object: z.literal('chat.completion.chunk') };

const ContentChunk = z.strictObject({
  ...ChunkEnvelope,
  choices: z.tuple([
    z.strictObject({
      index: z.literal(0),
      delta: Delta,
      finish_reason: z.null(),
      logprobs: LogProbs.nullable().optional(),
    }),
  ]),
  usage: z.null().optional(),
});

/** The last chunk with a choice. It has the usage unless the request states whether it wants it. */
const FinishChunk = z.strictObject({
  ...ChunkEnvelope,
  ...ResponseFields,
  choices: z.tuple([
    z.strictObject({
      index: z.literal(0),
      delta: z.strictObject(MessageFields),
      finish_reason: FinishReason,
    }),
  ]),
  usage: Usage.nullish(),
});

const UsageChunk = z.strictObject({
  ...ChunkEnvelope,
  ...ResponseFields,
  choices: z.tuple([]),
  usage: Usage,
});

/** `type` and `message` by contract, `param` and `code` by the vendor's schema. */
const ErrorBody = z.strictObject({
  type: z.string().min(1),
  message: z.string().min(1),
  param: z.string().nullable(),
  code: z.string().nullable(),
});

export const ChatChunk = z.union([ContentChunk, FinishChunk, UsageChunk]);

export const ChatError = z.strictObject({ error: ErrorBody });
