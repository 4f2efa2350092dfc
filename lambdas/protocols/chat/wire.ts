import {
  anything,
  atLeast,
  atMost,
  boolean,
  exactOptional,
  type Infer,
  integer,
  jsonObject,
  list,
  literal,
  looseObject,
  mapped,
  matching,
  maxItems,
  minItems,
  nonEmpty,
  number,
  object,
  oneOf,
  optional,
  positive,
  selectedBy,
  string,
  typed,
  union,
  withDefault,
} from '../../support/schema.ts';

/** The chat-completions request. Loose: fields that are not listed are kept in `extras`. */
const TextPart = looseObject({ type: literal('text'), text: string });
const RefusalPart = looseObject({ type: literal('refusal'), refusal: string });
const ImagePart = looseObject({
  type: literal('image_url'),
  image_url: looseObject({ url: string }),
});
const FilePart = looseObject({
  type: literal('file'),
  file: looseObject({
    file_data: optional(string),
    filename: optional(string),
    file_id: optional(string),
  }),
});
/** Blocks of the messages protocol; see borrowed-blocks.ts. */
const ToolUsePart = looseObject({
  type: literal('tool_use'),
  id: string,
  name: nonEmpty,
  input: anything,
});
const ToolResultPart = looseObject({
  type: literal('tool_result'),
  tool_use_id: string,
  content: optional(union([string, list(jsonObject)])),
  is_error: optional(boolean),
});
const ImageBlockPart = looseObject({
  type: literal('image'),
  source: union([
    looseObject({ type: literal('base64'), media_type: string, data: string }),
    looseObject({ type: literal('url'), url: string }),
  ]),
});
/** Parts of other kinds (audio, vendor extensions) are sent to chat upstreams unchanged. */
export const ContentPart = typed({
  text: TextPart,
  image_url: ImagePart,
  file: FilePart,
  refusal: RefusalPart,
  tool_use: ToolUsePart,
  tool_result: ToolResultPart,
  image: ImageBlockPart,
});
export type ContentPart = Infer<typeof ContentPart>;

const Content = union([string, list(ContentPart)]);

/** JSON text; some clients send the value itself. */
const Arguments = mapped(union([string, jsonObject]), (value) =>
  typeof value === 'string' ? value : JSON.stringify(value),
);

const FunctionCall = looseObject({ name: nonEmpty, arguments: optional(Arguments) });
// Empty ids come from upstreams that send them; the result has an empty id too.
const Id = { id: string };
const ToolCall = union([
  looseObject({
    ...Id,
    type: withDefault(literal('function'), 'function'),
    function: FunctionCall,
  }),
  looseObject({
    ...Id,
    type: literal('custom'),
    custom: looseObject({ name: nonEmpty, input: string }),
  }),
]);

const SystemMessage = looseObject({ role: oneOf(['system', 'developer']), content: Content });
const UserMessage = looseObject({ role: literal('user'), content: Content });
const AssistantMessage = looseObject({
  role: literal('assistant'),
  content: optional(Content),
  refusal: optional(string),
  reasoning_content: optional(string),
  tool_calls: optional(list(ToolCall)),
  function_call: optional(FunctionCall),
});
const ToolMessage = looseObject({
  role: literal('tool'),
  tool_call_id: string,
  content: optional(Content),
});
/** The result of a `function_call`; tool calls replaced both in 2023. */
const FunctionMessage = looseObject({
  role: literal('function'),
  name: nonEmpty,
  content: optional(Content),
});
const ROLES = 'must be one of system, developer, user, assistant, tool, function';
export const Message = selectedBy(
  'role',
  {
    ...{ system: SystemMessage, developer: SystemMessage, user: UserMessage },
    ...{ assistant: AssistantMessage, tool: ToolMessage, function: FunctionMessage },
  },
  ROLES,
);
export type Message = Infer<typeof Message>;

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** No provider accepts arguments of another type; some callers leave the type out. */
const Parameters = looseObject({ type: exactOptional(literal('object')) });

const ToolName = matching(TOOL_NAME, 'must be 1 to 64 letters, digits, _ or -');
const FunctionDefinition = looseObject({
  name: ToolName,
  description: optional(string),
  parameters: optional(Parameters),
  strict: optional(boolean),
});
const FunctionTool = looseObject({ type: literal('function'), function: FunctionDefinition });
/** Takes one free text, which a grammar may restrict. */
const CustomTool = looseObject({
  type: literal('custom'),
  custom: looseObject({
    name: ToolName,
    description: optional(string),
    format: optional(
      looseObject({
        grammar: optional(looseObject({ syntax: optional(string), definition: optional(string) })),
      }),
    ),
  }),
});
/** A tool of the messages protocol; some agents send it if a model's name suggests that protocol. */
const SchemaTool = looseObject({
  type: exactOptional(literal('custom')),
  name: ToolName,
  description: optional(string),
  input_schema: Parameters,
});
/** Tools of other types are run by an upstream. */
export const WireTool = typed(
  { function: FunctionTool, custom: union([CustomTool, SchemaTool]) },
  SchemaTool,
);
export type WireTool = Infer<typeof WireTool>;

const Named = looseObject({ name: nonEmpty });
const FunctionChoice = looseObject({ type: literal('function'), function: Named });
const CustomChoice = looseObject({ type: literal('custom'), custom: Named });
const WireToolChoice = union([
  oneOf(['none', 'auto', 'required']),
  FunctionChoice,
  CustomChoice,
  looseObject({
    type: literal('allowed_tools'),
    allowed_tools: looseObject({
      mode: oneOf(['auto', 'required']),
      tools: list(union([object({ custom: Named }), object({ function: Named })])),
    }),
  }),
  // Choices of the messages protocol, from agents that send its tools.
  looseObject({ type: oneOf(['auto', 'any', 'none']) }),
  looseObject({ type: literal('tool'), name: nonEmpty }),
]);
export type WireToolChoice = Infer<typeof WireToolChoice>;

const WireResponseFormat = selectedBy(
  'type',
  {
    text: looseObject({ type: literal('text') }),
    json_object: looseObject({ type: literal('json_object') }),
    json_schema: looseObject({
      type: literal('json_schema'),
      json_schema: looseObject({
        name: optional(string),
        description: optional(string),
        schema: optional(jsonObject),
        strict: optional(boolean),
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

export const ChatRequest = looseObject({
  model: nonEmpty,
  messages: list(Message, maxItems(MAX_MESSAGES, { items: minItems(1) })),
  stream: optional(boolean),
  stream_options: optional(jsonObject),
  max_tokens: optional(positive),
  max_completion_tokens: optional(positive),
  temperature: optional(atMost(atLeast(number, 0), 2)),
  top_p: optional(atMost(atLeast(number, 0), 1)),
  top_k: optional(atLeast(integer, 0)),
  n: optional(atMost(positive, MAX_CHOICES)),
  stop: optional(
    union([
      nonEmpty,
      list(nonEmpty, maxItems(MAX_STOP_SEQUENCES, { text: 'at most 4 sequences' })),
    ]),
  ),
  tools: optional(list(WireTool, maxItems(MAX_TOOLS))),
  tool_choice: optional(WireToolChoice),
  functions: optional(list(FunctionDefinition, maxItems(MAX_TOOLS))),
  function_call: optional(union([oneOf(['none', 'auto']), Named])),
  modalities: optional(list(string)),
  parallel_tool_calls: optional(boolean),
  response_format: optional(WireResponseFormat),
  reasoning_effort: optional(string),
  user: optional(string),
});
export type ChatRequest = Infer<typeof ChatRequest>;
