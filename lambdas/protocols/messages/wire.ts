import * as s from '../../support/schema.ts';

/** The messages request. Loose: fields that are not listed are kept in `extras`. */
const TextBlock = s.kind('text', { text: s.string });

const Base64Source = s.kind('base64', { media_type: s.string, data: s.string });
const UrlSource = s.kind('url', { url: s.string });
const TextSource = s.kind('text', { data: s.string });
/** Of files, content lists and unknown kinds: only an upstream of this protocol supports them. */
const ImageBlock = s.kind('image', {
  source: s.typed({ base64: Base64Source, url: UrlSource, text: s.noneBut(['base64', 'url']) }),
});
const DocumentBlock = s.kind('document', {
  source: s.typed({ base64: Base64Source, url: UrlSource, text: TextSource }),
  title: s.optional(s.string),
});
const ToolUseBlock = s.kind('tool_use', { id: s.string, name: s.nonEmpty, input: s.anything });
const ThinkingBlock = s.kind('thinking', { thinking: s.string, signature: s.optional(s.string) });
const NotInResult = s.noneBut(['text', 'image', 'document']);
const ResultContent = s.typed({
  ...{ text: TextBlock, image: ImageBlock, document: DocumentBlock },
  ...{ tool_use: NotInResult, tool_result: NotInResult, thinking: NotInResult },
});
const ToolResultBlock = s.kind('tool_result', {
  tool_use_id: s.string,
  content: s.optional(s.union([s.string, s.list(ResultContent)])),
  is_error: s.optional(s.boolean),
});
/** Of other types: server tools, redacted thinking, search results. */
export const ContentBlock = s.typed({
  text: TextBlock,
  tool_use: ToolUseBlock,
  tool_result: ToolResultBlock,
  thinking: ThinkingBlock,
  image: ImageBlock,
  document: DocumentBlock,
});
export type ContentBlock = s.Infer<typeof ContentBlock>;

const Content = s.union([s.string, s.list(ContentBlock)]);
const Turn = s.looseObject({ role: s.oneOf(['user', 'assistant']), content: Content });
/** Claude Code sends it inside `messages`; it keeps its place. One that only sets options has no content. */
const SystemTurn = s.looseObject({ role: s.literal('system'), content: s.optional(Content) });
export const Message = s.selectedBy('role', { user: Turn, assistant: Turn, system: SystemTurn });
export type Message = s.Infer<typeof Message>;

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const CustomTool = s.looseObject({
  type: s.optional(s.literal('custom')),
  name: s.matching(TOOL_NAME, 'must be 1 to 128 letters, digits, _ or -'),
  description: s.optional(s.string),
  input_schema: s.kind('object', {}),
  strict: s.optional(s.boolean),
});
/** Tools of other types are run by the vendor. */
export const WireTool = s.typed({ custom: CustomTool }, CustomTool);
export type WireTool = s.Infer<typeof WireTool>;

const Parallel = { disable_parallel_tool_use: s.optional(s.boolean) };
export const WireToolChoice = s.selectedBy('type', {
  auto: s.kind('auto', { ...Parallel }),
  any: s.kind('any', { ...Parallel }),
  none: s.kind('none', {}),
  tool: s.kind('tool', { name: s.nonEmpty, ...Parallel }),
});
export type WireToolChoice = s.Infer<typeof WireToolChoice>;

/** The router's limit against oversized requests. */
const MAX_MESSAGES = 10_000;
const MAX_TOOLS = 256;

/** The fields of both endpoints; only generation requires `max_tokens`. */
const COUNT_MEMBERS = {
  model: s.nonEmpty,
  messages: s.list(Message, s.maxItems(MAX_MESSAGES, { items: s.minItems(1) })),
  system: s.optional(s.union([s.string, s.list(TextBlock)])),
  // Zero warms the upstream's cache.
  max_tokens: s.optional(s.atLeast(s.integer, 0)),
  stream: s.optional(s.boolean),
  temperature: s.optional(s.atMost(s.atLeast(s.number, 0), 1)),
  top_p: s.optional(s.atMost(s.atLeast(s.number, 0), 1)),
  top_k: s.optional(s.atLeast(s.integer, 0)),
  stop_sequences: s.optional(s.list(s.nonEmpty)),
  tools: s.optional(s.list(WireTool, s.maxItems(MAX_TOOLS))),
  tool_choice: s.optional(WireToolChoice),
  thinking: s.optional(s.looseObject({ type: s.string, budget_tokens: s.optional(s.positive) })),
  output_config: s.optional(
    s.looseObject({ effort: s.optional(s.string), format: s.optional(s.jsonObject) }),
  ),
  metadata: s.optional(s.looseObject({ user_id: s.optional(s.string) })),
  thread: s.optional(s.anything),
};

export const CountRequest = s.looseObject(COUNT_MEMBERS);
export type CountRequest = s.Infer<typeof CountRequest>;

export const MessagesRequest = s.looseObject({
  ...COUNT_MEMBERS,
  max_tokens: s.atLeast(s.integer, 0),
});
