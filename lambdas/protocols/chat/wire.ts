import * as s from '../../support/schema.ts';

/** The chat-completions request. Loose: fields that are not listed are kept in `extras`. */
const TextPart = s.kind('text', { text: s.string });
const RefusalPart = s.kind('refusal', { refusal: s.string });
const ImagePart = s.kind('image_url', { image_url: s.looseObject({ url: s.string }) });
const FilePart = s.kind('file', {
  file: s.looseObject({
    file_data: s.optional(s.string),
    filename: s.optional(s.string),
    file_id: s.optional(s.string),
  }),
});
/** Blocks of the messages protocol; see borrowed-blocks.ts. */
const ToolUsePart = s.kind('tool_use', { id: s.string, name: s.nonEmpty, input: s.anything });
const ToolResultPart = s.kind('tool_result', {
  tool_use_id: s.string,
  content: s.optional(s.union([s.string, s.list(s.jsonObject)])),
  is_error: s.optional(s.boolean),
});
const ImageBlockPart = s.kind('image', {
  source: s.union([
    s.kind('base64', { media_type: s.string, data: s.string }),
    s.kind('url', { url: s.string }),
  ]),
});
/** Parts of other kinds (audio, vendor extensions) are sent to chat upstreams unchanged. */
export const ContentPart = s.typed({
  text: TextPart,
  image_url: ImagePart,
  file: FilePart,
  refusal: RefusalPart,
  tool_use: ToolUsePart,
  tool_result: ToolResultPart,
  image: ImageBlockPart,
});
export type ContentPart = s.Infer<typeof ContentPart>;

const Content = s.union([s.string, s.list(ContentPart)]);

/** JSON text; some clients send the value itself. */
const Arguments = s.mapped(s.union([s.string, s.jsonObject]), (value) =>
  typeof value === 'string' ? value : JSON.stringify(value),
);

const FunctionCall = s.looseObject({ name: s.nonEmpty, arguments: s.optional(Arguments) });
// Empty ids come from upstreams that send them; the result has an empty id too.
const Id = { id: s.string };
const ToolCall = s.union([
  s.looseObject({
    ...Id,
    type: s.withDefault(s.literal('function'), 'function'),
    function: FunctionCall,
  }),
  s.looseObject({
    ...Id,
    type: s.literal('custom'),
    custom: s.looseObject({ name: s.nonEmpty, input: s.string }),
  }),
]);

const SystemMessage = s.looseObject({ role: s.oneOf(['system', 'developer']), content: Content });
const UserMessage = s.looseObject({ role: s.literal('user'), content: Content });
const AssistantMessage = s.looseObject({
  role: s.literal('assistant'),
  content: s.optional(Content),
  refusal: s.optional(s.string),
  reasoning_content: s.optional(s.string),
  tool_calls: s.optional(s.list(ToolCall)),
  function_call: s.optional(FunctionCall),
});
const ToolMessage = s.looseObject({
  role: s.literal('tool'),
  tool_call_id: s.string,
  content: s.optional(Content),
});
/** The result of a `function_call`; tool calls replaced both in 2023. */
const FunctionMessage = s.looseObject({
  role: s.literal('function'),
  name: s.nonEmpty,
  content: s.optional(Content),
});
const ROLES = 'must be one of system, developer, user, assistant, tool, function';
export const Message = s.selectedBy(
  'role',
  {
    ...{ system: SystemMessage, developer: SystemMessage, user: UserMessage },
    ...{ assistant: AssistantMessage, tool: ToolMessage, function: FunctionMessage },
  },
  ROLES,
);
export type Message = s.Infer<typeof Message>;

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** No provider accepts arguments of another type; some callers leave the type out. */
const Parameters = s.looseObject({ type: s.exactOptional(s.literal('object')) });

const ToolName = s.matching(TOOL_NAME, 'must be 1 to 64 letters, digits, _ or -');
const FunctionDefinition = s.looseObject({
  name: ToolName,
  description: s.optional(s.string),
  parameters: s.optional(Parameters),
  strict: s.optional(s.boolean),
});
const FunctionTool = s.kind('function', { function: FunctionDefinition });
/** Takes one free text, which a grammar may restrict. */
const CustomTool = s.kind('custom', {
  custom: s.looseObject({
    name: ToolName,
    description: s.optional(s.string),
    format: s.optional(
      s.looseObject({
        grammar: s.optional(
          s.looseObject({ syntax: s.optional(s.string), definition: s.optional(s.string) }),
        ),
      }),
    ),
  }),
});
/** A tool of the messages protocol; some agents send it if a model's name suggests that protocol. */
const SchemaTool = s.looseObject({
  type: s.exactOptional(s.literal('custom')),
  name: ToolName,
  description: s.optional(s.string),
  input_schema: Parameters,
});
/** Tools of other types are run by an upstream. */
export const WireTool = s.typed(
  { function: FunctionTool, custom: s.union([CustomTool, SchemaTool]) },
  SchemaTool,
);
export type WireTool = s.Infer<typeof WireTool>;

const Named = s.looseObject({ name: s.nonEmpty });
const FunctionChoice = s.kind('function', { function: Named });
const CustomChoice = s.kind('custom', { custom: Named });
const WireToolChoice = s.union([
  s.oneOf(['none', 'auto', 'required']),
  FunctionChoice,
  CustomChoice,
  s.kind('allowed_tools', {
    allowed_tools: s.looseObject({
      mode: s.oneOf(['auto', 'required']),
      tools: s.list(s.union([s.object({ custom: Named }), s.object({ function: Named })])),
    }),
  }),
  // Choices of the messages protocol, from agents that send its tools.
  s.looseObject({ type: s.oneOf(['auto', 'any', 'none']) }),
  s.kind('tool', { name: s.nonEmpty }),
]);
export type WireToolChoice = s.Infer<typeof WireToolChoice>;

const WireResponseFormat = s.selectedBy(
  'type',
  {
    text: s.kind('text', {}),
    json_object: s.kind('json_object', {}),
    json_schema: s.kind('json_schema', {
      json_schema: s.looseObject({
        name: s.optional(s.string),
        description: s.optional(s.string),
        schema: s.optional(s.jsonObject),
        strict: s.optional(s.boolean),
      }),
    }),
  },
  'must be one of text, json_object, json_schema',
);

/** The vendor's limit. */
const MAX_STOP_SEQUENCES = 4;
/** The router's limit against oversized requests. */
const MAX_MESSAGES = 10_000;
const MAX_TOOLS = 256;
/** The vendor's limit. */
const MAX_CHOICES = 128;

export const ChatRequest = s.looseObject({
  model: s.nonEmpty,
  messages: s.list(Message, s.maxItems(MAX_MESSAGES, { items: s.minItems(1) })),
  stream: s.optional(s.boolean),
  stream_options: s.optional(s.jsonObject),
  max_tokens: s.optional(s.positive),
  max_completion_tokens: s.optional(s.positive),
  temperature: s.optional(s.atMost(s.atLeast(s.number, 0), 2)),
  top_p: s.optional(s.atMost(s.atLeast(s.number, 0), 1)),
  top_k: s.optional(s.atLeast(s.integer, 0)),
  n: s.optional(s.atMost(s.positive, MAX_CHOICES)),
  stop: s.optional(
    s.union([
      s.nonEmpty,
      s.list(s.nonEmpty, s.maxItems(MAX_STOP_SEQUENCES, { text: 'at most 4 sequences' })),
    ]),
  ),
  tools: s.optional(s.list(WireTool, s.maxItems(MAX_TOOLS))),
  tool_choice: s.optional(WireToolChoice),
  functions: s.optional(s.list(FunctionDefinition, s.maxItems(MAX_TOOLS))),
  function_call: s.optional(s.union([s.oneOf(['none', 'auto']), Named])),
  modalities: s.optional(s.list(s.string)),
  parallel_tool_calls: s.optional(s.boolean),
  response_format: s.optional(WireResponseFormat),
  reasoning_effort: s.optional(s.string),
  user: s.optional(s.string),
});
export type ChatRequest = s.Infer<typeof ChatRequest>;

/** Its members about tools. */
export const TOOL_FIELDS = [
  ...(['tools', 'functions', 'tool_choice', 'function_call', 'parallel_tool_calls'] as const),
];
