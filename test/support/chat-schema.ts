import * as z from 'zod';

/** The part of the chat family's published schema that this router writes: required and nullable as there. */
const LogProbs = z.looseObject({ content: z.array(z.unknown()).nullable() });
const FinishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter', 'function_call']);
/** Loose, as all objects with members of providers, which are passed on. */
const Usage = z.looseObject({
  prompt_tokens: z.int().nonnegative(),
  completion_tokens: z.int().nonnegative(),
  total_tokens: z.int().nonnegative(),
});

const Envelope = {
  id: z.string().startsWith('chatcmpl-'),
  created: z.int(),
  model: z.string().min(1),
};

const FunctionCall = z.looseObject({ name: z.string().min(1), arguments: z.string() });
const Id = { id: z.string().min(1) };
const ToolCall = z.union([
  z.looseObject({ ...Id, type: z.literal('function'), function: FunctionCall }),
  z.looseObject({
    ...Id,
    type: z.literal('custom'),
    custom: z.strictObject({ name: z.string().min(1), input: z.string() }),
  }),
]);

export const ChatCompletion = z.looseObject({
  ...Envelope,
  object: z.literal('chat.completion'),
  choices: z
    .array(
      z.looseObject({
        index: z.int(),
        finish_reason: FinishReason,
        logprobs: LogProbs.nullable(),
        message: z.looseObject({
          role: z.literal('assistant'),
          content: z.string().nullable(),
          refusal: z.string().nullable(),
          tool_calls: z.array(ToolCall).min(1).optional(),
          function_call: FunctionCall.optional(),
          // Beyond the vendor: the name by which the family's other servers and its clients know it.
          reasoning_content: z.string().nullish(),
        }),
      }),
    )
    .min(1),
  usage: Usage,
});

const Called = z.looseObject({
  name: z.string().min(1).optional(),
  arguments: z.string().optional(),
});
const ToolFragment = z
  .looseObject({
    index: z.int().nonnegative(),
    id: z.string().min(1).optional(),
    type: z.enum(['function', 'custom']).optional(),
    function: Called.optional(),
    custom: z.strictObject({ name: z.string().optional(), input: z.string() }).optional(),
  })
  // Neither, as the vendor's types have it, in a fragment that only a provider's members are in.
  .refine((call) => call.function === undefined || call.custom === undefined);

/** Members of providers are passed on. */
const Delta = z.looseObject({
  role: z.literal('assistant').optional(),
  content: z.string().nullable().optional(),
  refusal: z.string().nullable().optional(),
  tool_calls: z.array(ToolFragment).min(1).optional(),
  function_call: Called.optional(),
  audio: z.looseObject({}).optional(),
  reasoning_content: z.string().nullish(),
});

const ChunkEnvelope = { ...Envelope, object: z.literal('chat.completion.chunk') };

const ContentChunk = z.looseObject({
  ...ChunkEnvelope,
  choices: z.tuple([
    z.looseObject({
      index: z.int(),
      delta: Delta,
      finish_reason: z.null(),
      logprobs: LogProbs.nullable().optional(),
    }),
  ]),
  usage: z.null().optional(),
});

/**
 * The last chunk of a choice, with what is passed on. That of the last choice has the usage unless the request
 * states whether it wants it.
 */
const FinishChunk = z.looseObject({
  ...ChunkEnvelope,
  choices: z.tuple([
    z.looseObject({
      index: z.int(),
      delta: z.looseObject({}),
      finish_reason: FinishReason,
    }),
  ]),
  usage: Usage.nullish(),
});

const UsageChunk = z.looseObject({
  ...ChunkEnvelope,
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
