import * as z from 'zod/mini';
import { each, JsonObject, ofOtherType, optional } from '../parse-wire.ts';

const OptionalText = optional(z.string());
const NonEmptyText = z.string().check(z.minLength(1));

/** The responses request. Loose: members that are not listed are ignored. */
const TextPart = z.looseObject({
  type: z.enum(['input_text', 'output_text', 'text']),
  text: z.string(),
});
const RefusalPart = z.looseObject({ type: z.literal('refusal'), refusal: z.string() });
const ImagePart = z.looseObject({
  type: z.literal('input_image'),
  image_url: OptionalText,
  file_id: OptionalText,
});
const FilePart = z.looseObject({
  type: z.literal('input_file'),
  file_data: OptionalText,
  file_url: OptionalText,
  file_id: OptionalText,
  filename: OptionalText,
});
const ContentPart = z.union(
  [TextPart, RefusalPart, ImagePart, FilePart],
  'must be one of input_text, output_text, refusal, input_image, input_file',
);
export type ContentPart = z.infer<typeof ContentPart>;

const Content = z.union([z.string(), each(ContentPart)]);
export type Content = z.infer<typeof Content>;

const MessageItem = z.looseObject({
  type: z._default(z.literal('message'), 'message'),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: Content,
});
const FunctionCallItem = z.looseObject({
  type: z.literal('function_call'),
  call_id: NonEmptyText,
  name: NonEmptyText,
  namespace: OptionalText,
  arguments: z.string(),
});
const CustomCallItem = z.looseObject({
  type: z.literal('custom_tool_call'),
  call_id: NonEmptyText,
  name: NonEmptyText,
  namespace: OptionalText,
  input: z.string(),
});
const OutputItem = z.looseObject({
  type: z.enum(['function_call_output', 'custom_tool_call_output']),
  call_id: NonEmptyText,
  output: Content,
});
const ReasoningItem = z.looseObject({
  type: z.literal('reasoning'),
  summary: optional(each(z.looseObject({ text: z.string() }))),
  encrypted_content: OptionalText,
});

const ToolFormat = z.looseObject({
  type: z.string(),
  syntax: OptionalText,
  definition: OptionalText,
});
/** The vendor's limit is 64; functions of other vendors' tools have longer names. */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const ToolName = z.string().check(z.regex(TOOL_NAME, 'must be 1 to 128 letters, digits, _ or -'));
const FunctionTool = z.looseObject({
  type: z.literal('function'),
  name: ToolName,
  description: OptionalText,
  parameters: optional(z.looseObject({ type: z.optional(z.literal('object')) })),
  strict: optional(z.boolean()),
});
const CustomTool = z.looseObject({
  type: z.literal('custom'),
  name: ToolName,
  description: OptionalText,
  format: optional(ToolFormat),
});
/** Tools that the vendor runs. */
const HostedTool = ofOtherType(['function', 'custom', 'namespace'], 'Invalid tool');
const NamespaceTool = z.looseObject({
  type: z.literal('namespace'),
  name: ToolName,
  tools: each(z.union([FunctionTool, CustomTool, HostedTool])),
});
const WireTool = z.union([FunctionTool, CustomTool, NamespaceTool, HostedTool]);
export type WireTool = z.infer<typeof WireTool>;

/** The router's limit against oversized requests. */
const MAX_ITEMS = 10_000;
const MAX_TOOLS = 256;
const Tools = each(WireTool, z.array(z.unknown()).check(z.maxLength(MAX_TOOLS)));

const ToolsItem = z.looseObject({ type: z.literal('additional_tools'), tools: Tools });
const ReferenceItem = z.looseObject({ type: z.literal('item_reference'), id: z.string() });
const PLAIN_ITEMS = [
  ...['message', 'function_call', 'custom_tool_call', 'function_call_output'],
  ...['custom_tool_call_output', 'reasoning', 'additional_tools', 'item_reference'],
];
const InputItem = z.union([
  MessageItem,
  FunctionCallItem,
  CustomCallItem,
  OutputItem,
  ReasoningItem,
  ToolsItem,
  ReferenceItem,
  ofOtherType(PLAIN_ITEMS, 'Invalid item'),
]);
export type InputItem = z.infer<typeof InputItem>;

const NamedChoice = z.looseObject({
  type: z.enum(['function', 'custom']),
  name: NonEmptyText,
  namespace: OptionalText,
});
const WireToolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  NamedChoice,
  z.looseObject({
    type: z.literal('allowed_tools'),
    mode: z.enum(['auto', 'required']),
    tools: z.array(z.looseObject({ type: z.string(), name: OptionalText })),
  }),
]);
export type WireToolChoice = z.infer<typeof WireToolChoice>;

const TextFormat = z.discriminatedUnion(
  'type',
  [
    z.looseObject({ type: z.literal('text') }),
    z.looseObject({ type: z.literal('json_object') }),
    z.looseObject({
      type: z.literal('json_schema'),
      name: OptionalText,
      schema: optional(JsonObject),
      strict: optional(z.boolean()),
    }),
  ],
  'must be one of text, json_object, json_schema',
);
export type TextFormat = z.infer<typeof TextFormat>;

const WHOLE =
  'is not supported, because no response is stored here: send the whole conversation in input';

/** A field of the vendor's state; null and false read as absent. */
const absent = (message: string) =>
  z.pipe(
    optional(z.literal(false, message)),
    z.transform(() => undefined),
  );

export const ResponsesRequest = z.looseObject({
  // First: a request with one of these often lacks the input.
  previous_response_id: absent(WHOLE),
  conversation: absent(WHOLE),
  background: absent('is not supported: wait for the response, or stream it'),
  prompt: absent('is not supported, because no prompt is stored here: send instructions and input'),
  context_management: absent('is not supported: shorten the conversation before it is sent'),
  model: NonEmptyText,
  input: z.union([
    z.string(),
    each(InputItem, z.array(z.unknown()).check(z.minLength(1), z.maxLength(MAX_ITEMS))),
  ]),
  instructions: OptionalText,
  stream: optional(z.boolean()),
  store: optional(z.boolean()),
  max_output_tokens: optional(z.int().check(z.positive())),
  temperature: optional(z.number().check(z.minimum(0), z.maximum(2))),
  top_p: optional(z.number().check(z.minimum(0), z.maximum(1))),
  tools: optional(Tools),
  tool_choice: optional(WireToolChoice),
  parallel_tool_calls: optional(z.boolean()),
  text: optional(z.looseObject({ format: optional(TextFormat), verbosity: OptionalText })),
  reasoning: optional(z.looseObject({ effort: OptionalText, summary: OptionalText })),
  user: OptionalText,
  metadata: optional(JsonObject),
  truncation: optional(z.enum(['auto', 'disabled'])),
});
export type ResponsesRequest = z.infer<typeof ResponsesRequest>;
