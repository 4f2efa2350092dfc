import * as z from 'zod/mini';
import { each, JsonObject, ofOtherType, optional } from '../parse-wire.ts';

const Name = z.string().check(z.minLength(1));

/** The chat-completions request. Loose: fields that are not listed are kept in `extras`. */
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
/** Blocks of the messages protocol; see borrowed-blocks.ts. */
const ToolUsePart = z.looseObject({
  type: z.literal('tool_use'),
  id: z.string(),
  name: Name,
  input: z.unknown(),
});
const ToolResultPart = z.looseObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: optional(z.union([z.string(), each(JsonObject)])),
  is_error: optional(z.boolean()),
});
const ImageBlockPart = z.looseObject({
  type: z.literal('image'),
  source: z.union([
    z.looseObject({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
    z.looseObject({ type: z.literal('url'), url: z.string() }),
  ]),
});
const KNOWN_PARTS = ['text', 'refusal', 'image_url', 'file', 'tool_use', 'tool_result', 'image'];
/** Parts of other kinds (audio, vendor extensions) are sent to chat upstreams unchanged. */
const OtherPart = ofOtherType(KNOWN_PARTS, 'Invalid content part');
export const ContentPart = z.union([
  TextPart,
  ImagePart,
  FilePart,
  RefusalPart,
  ToolUsePart,
  ToolResultPart,
  ImageBlockPart,
  OtherPart,
]);
export type ContentPart = z.infer<typeof ContentPart>;

const Content = z.union([z.string(), each(ContentPart)]);

/** JSON text; some clients send the value itself. */
const Arguments = z.pipe(
  z.union([z.string(), JsonObject]),
  z.transform((value) => (typeof value === 'string' ? value : JSON.stringify(value))),
);

const FunctionCall = z.looseObject({ name: Name, arguments: optional(Arguments) });
// Empty ids come from upstreams that send them; the result has an empty id too.
const Id = { id: z.string() };
const ToolCall = z.union([
  z.looseObject({
    ...Id,
    type: z._default(z.literal('function'), 'function'),
    function: FunctionCall,
  }),
  z.looseObject({
    ...Id,
    type: z.literal('custom'),
    custom: z.looseObject({ name: Name, input: z.string() }),
  }),
]);

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
  tool_calls: optional(each(ToolCall)),
  function_call: optional(FunctionCall),
});
const ToolMessage = z.looseObject({
  role: z.literal('tool'),
  tool_call_id: z.string(),
  content: optional(Content),
});
/** The result of a `function_call`; tool calls replaced both in 2023. */
const FunctionMessage = z.looseObject({
  role: z.literal('function'),
  name: Name,
  content: optional(Content),
});
const ROLES = 'must be one of system, developer, user, assistant, tool, function';
export const Message = z.discriminatedUnion(
  'role',
  [SystemMessage, UserMessage, AssistantMessage, ToolMessage, FunctionMessage],
  ROLES,
);
export type Message = z.infer<typeof Message>;

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** No provider accepts arguments of another type; some callers leave the type out. */
const Parameters = z.looseObject({ type: z.optional(z.literal('object')) });

const ToolName = z.string().check(z.regex(TOOL_NAME, 'must be 1 to 64 letters, digits, _ or -'));
const FunctionDefinition = z.looseObject({
  name: ToolName,
  description: optional(z.string()),
  parameters: optional(Parameters),
  strict: optional(z.boolean()),
});
const FunctionTool = z.looseObject({ type: z.literal('function'), function: FunctionDefinition });
/** Takes one free text, which a grammar may restrict. */
const CustomTool = z.looseObject({
  type: z.literal('custom'),
  custom: z.looseObject({
    name: ToolName,
    description: optional(z.string()),
    format: optional(
      z.looseObject({
        grammar: optional(
          z.looseObject({ syntax: optional(z.string()), definition: optional(z.string()) }),
        ),
      }),
    ),
  }),
});
/** A tool of the messages protocol; some agents send it if a model's name suggests that protocol. */
const SchemaTool = z.looseObject({
  type: z.optional(z.literal('custom')),
  name: ToolName,
  description: optional(z.string()),
  input_schema: Parameters,
});
/** Tools that an upstream runs. */
const OtherTool = ofOtherType(['function', 'custom'], 'Invalid tool');
export const WireTool = z.union([FunctionTool, CustomTool, SchemaTool, OtherTool]);
export type WireTool = z.infer<typeof WireTool>;

const Named = z.looseObject({ name: Name });
const FunctionChoice = z.looseObject({ type: z.literal('function'), function: Named });
const CustomChoice = z.looseObject({ type: z.literal('custom'), custom: Named });
const WireToolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  FunctionChoice,
  CustomChoice,
  z.looseObject({
    type: z.literal('allowed_tools'),
    allowed_tools: z.looseObject({
      mode: z.enum(['auto', 'required']),
      tools: z.array(z.union([z.object({ custom: Named }), z.object({ function: Named })])),
    }),
  }),
  // Choices of the messages protocol, from agents that send its tools.
  z.looseObject({ type: z.enum(['auto', 'any', 'none']) }),
  z.looseObject({ type: z.literal('tool'), name: Name }),
]);
export type WireToolChoice = z.infer<typeof WireToolChoice>;

const WireResponseFormat = z.discriminatedUnion(
  'type',
  [
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
  ],
  'must be one of text, json_object, json_schema',
);

/** The vendor's limit. */
const MAX_STOP_SEQUENCES = 4;
/** The router's limit against oversized requests. */
const MAX_MESSAGES = 10_000;
const MAX_TOOLS = 256;
/** The vendor's limit. */
const MAX_CHOICES = 128;

const StopSequence = z.string().check(z.minLength(1));

export const ChatRequest = z.looseObject({
  model: z.string().check(z.minLength(1)),
  messages: each(Message, z.array(z.unknown()).check(z.minLength(1), z.maxLength(MAX_MESSAGES))),
  stream: optional(z.boolean()),
  stream_options: optional(JsonObject),
  max_tokens: optional(z.int().check(z.positive())),
  max_completion_tokens: optional(z.int().check(z.positive())),
  temperature: optional(z.number().check(z.minimum(0), z.maximum(2))),
  top_p: optional(z.number().check(z.minimum(0), z.maximum(1))),
  top_k: optional(z.int().check(z.nonnegative())),
  n: optional(z.int().check(z.positive(), z.maximum(MAX_CHOICES))),
  stop: optional(
    z.union([
      StopSequence,
      z.array(StopSequence).check(z.maxLength(MAX_STOP_SEQUENCES, 'at most 4 sequences')),
    ]),
  ),
  tools: optional(each(WireTool, z.array(z.unknown()).check(z.maxLength(MAX_TOOLS)))),
  tool_choice: optional(WireToolChoice),
  functions: optional(each(FunctionDefinition, z.array(z.unknown()).check(z.maxLength(MAX_TOOLS)))),
  function_call: optional(z.union([z.enum(['none', 'auto']), Named])),
  modalities: optional(z.array(z.string())),
  parallel_tool_calls: optional(z.boolean()),
  response_format: optional(WireResponseFormat),
  reasoning_effort: optional(z.string()),
  user: optional(z.string()),
});
export type ChatRequest = z.infer<typeof ChatRequest>;
