import * as z from 'zod';
import { JsonObject, optional } from '../parse-wire.ts';

/** The chat-completions wire as callers send it. Loose: what is not listed rides along. */
const TextPart = z.looseObject({ type: z.literal('text'), text: z.string() });
const RefusalPart = z.looseObject({ type: z.literal('refusal'), refusal: z.string() });
const ImagePart = z.looseObject({
  type: z.literal('image_url'),
  image_url: z.looseObject({ url: z.string() }),
});
const FilePart = z.looseObject({
  type: z.literal('file'),
  file: z.looseObject({
    file_data: optional(z.string()),
    filename: optional(z.string()),
    file_id: optional(z.string()),
  }),
});
const KNOWN_PARTS = ['text', 'refusal', 'image_url', 'file'];
/** Parts of other kinds (audio, vendor extensions) go on to chat upstreams as they are. */
const OtherPart = z.looseObject({
  type: z.string().refine((type) => !KNOWN_PARTS.includes(type), 'Invalid content part'),
});
export const ContentPart = z.union([TextPart, ImagePart, FilePart, RefusalPart, OtherPart]);
export type ContentPart = z.infer<typeof ContentPart>;

const Content = z.union([z.string(), z.array(ContentPart)]);

const ToolCall = z.looseObject({
  id: z.string().min(1),
  type: z.literal('function').default('function'),
  function: z.looseObject({ name: z.string().min(1), arguments: optional(z.string()) }),
});

const SystemMessage = z.looseObject({
  role: z.enum(['system', 'developer']),
  content: Content,
});
const UserMessage = z.looseObject({ role: z.literal('user'), content: Content });
const AssistantMessage = z.looseObject({
  role: z.literal('assistant'),
  content: optional(Content),
  refusal: optional(z.string()),
  reasoning_content: optional(z.string()),
  tool_calls: optional(z.array(ToolCall)),
});
const ToolMessage = z.looseObject({
  role: z.literal('tool'),
  tool_call_id: z.string().min(1),
  content: Content,
});
export const Message = z.discriminatedUnion('role', [
  SystemMessage,
  UserMessage,
  AssistantMessage,
  ToolMessage,
]);
export type Message = z.infer<typeof Message>;

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

const FunctionTool = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({
    name: z.string().regex(TOOL_NAME, 'must be 1 to 64 letters, digits, _ or -'),
    description: optional(z.string()),
    parameters: optional(JsonObject),
    strict: optional(z.boolean()),
  }),
});
/** Some agents send the other family's tool shape to this endpoint when a model's name suggests it. */
const SchemaTool = z.looseObject({
  type: z.undefined().optional(),
  name: z.string().regex(TOOL_NAME),
  description: optional(z.string()),
  input_schema: JsonObject,
});
const OtherTool = z.looseObject({ type: z.string().refine((type) => type !== 'function') });
export const WireTool = z.union([FunctionTool, SchemaTool, OtherTool]);
export type WireTool = z.infer<typeof WireTool>;

const WireToolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.looseObject({
    type: z.literal('function'),
    function: z.looseObject({ name: z.string().min(1) }),
  }),
  z.looseObject({
    type: z.literal('allowed_tools'),
    allowed_tools: z.looseObject({
      mode: z.enum(['auto', 'required']),
      tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })),
    }),
  }),
]);

const WireResponseFormat = z.union([
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({
    type: z.literal('json_schema'),
    json_schema: z.looseObject({
      name: optional(z.string()),
      schema: optional(JsonObject),
      strict: optional(z.boolean()),
    }),
  }),
]);

/** Limits of the contract, part 8. */
const MAX_STOP_SEQUENCES = 4;
const MAX_MESSAGES = 10_000;
const MAX_TOOLS = 256;

const StopSequence = z.string().min(1);

export const ChatRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(Message).min(1).max(MAX_MESSAGES),
  stream: optional(z.boolean()),
  stream_options: optional(JsonObject),
  max_tokens: optional(z.int().positive()),
  max_completion_tokens: optional(z.int().positive()),
  temperature: optional(z.number().min(0).max(2)),
  top_p: optional(z.number().min(0).max(1)),
  top_k: optional(z.int().nonnegative()),
  n: optional(z.literal(1, 'only one choice per request is supported')),
  stop: optional(z.union([StopSequence, z.array(StopSequence).max(MAX_STOP_SEQUENCES)])),
  tools: optional(z.array(WireTool).max(MAX_TOOLS)),
  tool_choice: optional(WireToolChoice),
  functions: optional(z.never('functions are replaced by tools')),
  parallel_tool_calls: optional(z.boolean()),
  response_format: optional(WireResponseFormat),
  reasoning_effort: optional(z.string()),
  user: optional(z.string()),
});
export type ChatRequest = z.infer<typeof ChatRequest>;
