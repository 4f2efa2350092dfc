import {
  anything,
  atLeast,
  atMost,
  boolean,
  type Infer,
  integer,
  jsonObject,
  list,
  literal,
  looseObject,
  matching,
  maxItems,
  minItems,
  nonEmpty,
  noneBut,
  number,
  oneOf,
  optional,
  positive,
  selectedBy,
  string,
  typed,
  union,
} from '../../support/schema.ts';

/** The messages request. Loose: fields that are not listed are kept in `extras`. */
const TextBlock = looseObject({ type: literal('text'), text: string });

const Base64Source = looseObject({ type: literal('base64'), media_type: string, data: string });
const UrlSource = looseObject({ type: literal('url'), url: string });
const TextSource = looseObject({ type: literal('text'), data: string });
/** Of files, content lists and unknown kinds: only an upstream of this protocol supports them. */
const ImageBlock = looseObject({
  type: literal('image'),
  source: typed({ base64: Base64Source, url: UrlSource, text: noneBut(['base64', 'url']) }),
});
const DocumentBlock = looseObject({
  type: literal('document'),
  source: typed({ base64: Base64Source, url: UrlSource, text: TextSource }),
  title: optional(string),
});
const ToolUseBlock = looseObject({
  type: literal('tool_use'),
  id: string,
  name: nonEmpty,
  input: anything,
});
const ThinkingBlock = looseObject({
  type: literal('thinking'),
  thinking: string,
  signature: optional(string),
});
const NotInResult = noneBut(['text', 'image', 'document']);
const ResultContent = typed({
  ...{ text: TextBlock, image: ImageBlock, document: DocumentBlock },
  ...{ tool_use: NotInResult, tool_result: NotInResult, thinking: NotInResult },
});
const ToolResultBlock = looseObject({
  type: literal('tool_result'),
  tool_use_id: string,
  content: optional(union([string, list(ResultContent)])),
  is_error: optional(boolean),
});
/** Of other types: server tools, redacted thinking, search results. */
export const ContentBlock = typed({
  text: TextBlock,
  tool_use: ToolUseBlock,
  tool_result: ToolResultBlock,
  thinking: ThinkingBlock,
  image: ImageBlock,
  document: DocumentBlock,
});
export type ContentBlock = Infer<typeof ContentBlock>;

const Content = union([string, list(ContentBlock)]);
const Turn = looseObject({ role: oneOf(['user', 'assistant']), content: Content });
/** Claude Code sends it inside `messages`; it keeps its place. One that only sets options has no content. */
const SystemTurn = looseObject({ role: literal('system'), content: optional(Content) });
export const Message = selectedBy('role', { user: Turn, assistant: Turn, system: SystemTurn });
export type Message = Infer<typeof Message>;

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const CustomTool = looseObject({
  type: optional(literal('custom')),
  name: matching(TOOL_NAME, 'must be 1 to 128 letters, digits, _ or -'),
  description: optional(string),
  input_schema: looseObject({ type: literal('object') }),
  strict: optional(boolean),
});
/** Tools of other types are run by the vendor. */
export const WireTool = typed({ custom: CustomTool }, CustomTool);
export type WireTool = Infer<typeof WireTool>;

const Parallel = { disable_parallel_tool_use: optional(boolean) };
export const WireToolChoice = selectedBy('type', {
  auto: looseObject({ type: literal('auto'), ...Parallel }),
  any: looseObject({ type: literal('any'), ...Parallel }),
  none: looseObject({ type: literal('none') }),
  tool: looseObject({ type: literal('tool'), name: nonEmpty, ...Parallel }),
});
export type WireToolChoice = Infer<typeof WireToolChoice>;

/** The router's limit against oversized requests. */
const MAX_MESSAGES = 10_000;
const MAX_TOOLS = 256;

/** The fields of both endpoints; only generation requires `max_tokens`. */
const COUNT_MEMBERS = {
  model: nonEmpty,
  messages: list(Message, maxItems(MAX_MESSAGES, { items: minItems(1) })),
  system: optional(union([string, list(TextBlock)])),
  // Zero warms the upstream's cache.
  max_tokens: optional(atLeast(integer, 0)),
  stream: optional(boolean),
  temperature: optional(atMost(atLeast(number, 0), 1)),
  top_p: optional(atMost(atLeast(number, 0), 1)),
  top_k: optional(atLeast(integer, 0)),
  stop_sequences: optional(list(nonEmpty)),
  tools: optional(list(WireTool, maxItems(MAX_TOOLS))),
  tool_choice: optional(WireToolChoice),
  thinking: optional(looseObject({ type: string, budget_tokens: optional(positive) })),
  output_config: optional(looseObject({ effort: optional(string), format: optional(jsonObject) })),
  metadata: optional(looseObject({ user_id: optional(string) })),
  thread: optional(anything),
};

export const CountRequest = looseObject(COUNT_MEMBERS);
export type CountRequest = Infer<typeof CountRequest>;

export const MessagesRequest = looseObject({ ...COUNT_MEMBERS, max_tokens: atLeast(integer, 0) });
