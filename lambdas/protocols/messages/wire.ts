import * as z from 'zod/mini';
import { each, JsonObject, ofOtherType, optional } from '../parse-wire.ts';

/** The messages request. Loose: fields that are not listed are kept in `extras`. */
const TextBlock = z.looseObject({ type: z.literal('text'), text: z.string() });

const Base64Source = z.looseObject({
  type: z.literal('base64'),
  media_type: z.string(),
  data: z.string(),
});
const UrlSource = z.looseObject({ type: z.literal('url'), url: z.string() });
const TextSource = z.looseObject({ type: z.literal('text'), data: z.string() });
/** Files, content lists and unknown kinds: only an upstream of this protocol supports them. */
const OtherSource = ofOtherType(['base64', 'url', 'text'], 'Invalid source');
const ImageBlock = z.looseObject({
  type: z.literal('image'),
  source: z.union([Base64Source, UrlSource, OtherSource]),
});
const DocumentBlock = z.looseObject({
  type: z.literal('document'),
  source: z.union([Base64Source, UrlSource, TextSource, OtherSource]),
  title: optional(z.string()),
});
const ToolUseBlock = z.looseObject({
  type: z.literal('tool_use'),
  id: z.string(),
  name: z.string().check(z.minLength(1)),
  input: z.unknown(),
});
const ThinkingBlock = z.looseObject({
  type: z.literal('thinking'),
  thinking: z.string(),
  signature: optional(z.string()),
});
const PLAIN_KINDS = ['text', 'image', 'document', 'tool_use', 'thinking', 'tool_result'];
/** Server tools, redacted thinking, search results and unknown kinds. */
const OtherBlock = ofOtherType(PLAIN_KINDS, 'Invalid content block');
const ResultContent = z.union([TextBlock, ImageBlock, DocumentBlock, OtherBlock]);
const ToolResultBlock = z.looseObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: optional(z.union([z.string(), each(ResultContent)])),
  is_error: optional(z.boolean()),
});
export const ContentBlock = z.union([
  TextBlock,
  ToolUseBlock,
  ToolResultBlock,
  ThinkingBlock,
  ImageBlock,
  DocumentBlock,
  OtherBlock,
]);
export type ContentBlock = z.infer<typeof ContentBlock>;

/** `system` inside `messages` is what Claude Code sends; it keeps its place. */
export const Message = z.looseObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string(), each(ContentBlock)]),
});
export type Message = z.infer<typeof Message>;

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const CustomTool = z.looseObject({
  type: optional(z.literal('custom')),
  name: z.string().check(z.regex(TOOL_NAME, 'must be 1 to 128 letters, digits, _ or -')),
  description: optional(z.string()),
  input_schema: z.looseObject({ type: z.literal('object') }),
  strict: optional(z.boolean()),
});
const ServerTool = ofOtherType(['custom'], 'Invalid tool');
export const WireTool = z.union([CustomTool, ServerTool]);
export type WireTool = z.infer<typeof WireTool>;

const Parallel = { disable_parallel_tool_use: optional(z.boolean()) };
export const WireToolChoice = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('auto'), ...Parallel }),
  z.looseObject({ type: z.literal('any'), ...Parallel }),
  z.looseObject({ type: z.literal('none') }),
  z.looseObject({ type: z.literal('tool'), name: z.string().check(z.minLength(1)), ...Parallel }),
]);
export type WireToolChoice = z.infer<typeof WireToolChoice>;

/** The router's limit against oversized requests. */
const MAX_MESSAGES = 10_000;
const MAX_TOOLS = 256;

/** The fields of both endpoints; only generation requires `max_tokens`. */
export const CountRequest = z.looseObject({
  model: z.string().check(z.minLength(1)),
  messages: each(Message, z.array(z.unknown()).check(z.minLength(1), z.maxLength(MAX_MESSAGES))),
  system: optional(z.union([z.string(), each(TextBlock)])),
  // Zero warms the upstream's cache.
  max_tokens: optional(z.int().check(z.nonnegative())),
  stream: optional(z.boolean()),
  temperature: optional(z.number().check(z.minimum(0), z.maximum(1))),
  top_p: optional(z.number().check(z.minimum(0), z.maximum(1))),
  top_k: optional(z.int().check(z.nonnegative())),
  stop_sequences: optional(z.array(z.string().check(z.minLength(1)))),
  tools: optional(each(WireTool, z.array(z.unknown()).check(z.maxLength(MAX_TOOLS)))),
  tool_choice: optional(WireToolChoice),
  thinking: optional(
    z.looseObject({ type: z.string(), budget_tokens: optional(z.int().check(z.positive())) }),
  ),
  output_config: optional(
    z.looseObject({ effort: optional(z.string()), format: optional(JsonObject) }),
  ),
  metadata: optional(z.looseObject({ user_id: optional(z.string()) })),
  thread: optional(z.unknown()),
});
export type CountRequest = z.infer<typeof CountRequest>;

export const MessagesRequest = z.extend(CountRequest, {
  max_tokens: z.int().check(z.nonnegative()),
});
