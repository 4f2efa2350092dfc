import {
  atLeast,
  atMost,
  boolean,
  exactOptional,
  type Infer,
  jsonObject,
  list,
  literal,
  looseObject,
  mapped,
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
  withDefault,
} from '../../support/schema.ts';
import { CLIENT_TOOL_NAMES } from './client-tools.ts';

const OptionalText = optional(string);
/** The responses request. Loose: members that are not listed are ignored. */
const TextPart = looseObject({ type: oneOf(['input_text', 'output_text', 'text']), text: string });
const ContentPart = selectedBy(
  'type',
  {
    ...{ input_text: TextPart, output_text: TextPart, text: TextPart },
    refusal: looseObject({ type: literal('refusal'), refusal: string }),
    input_image: looseObject({
      type: literal('input_image'),
      image_url: OptionalText,
      file_id: OptionalText,
      detail: OptionalText,
    }),
    input_file: looseObject({
      type: literal('input_file'),
      file_data: OptionalText,
      file_url: OptionalText,
      file_id: OptionalText,
      filename: OptionalText,
    }),
    input_audio: looseObject({ type: literal('input_audio'), input_audio: jsonObject }),
  },
  'must be one of input_text, output_text, refusal, input_image, input_file, input_audio',
);
export type ContentPart = Infer<typeof ContentPart>;

const Content = union([string, list(ContentPart)]);
export type Content = Infer<typeof Content>;

const MessageItem = looseObject({
  type: withDefault(literal('message'), 'message'),
  role: oneOf(['user', 'assistant', 'system', 'developer']),
  content: Content,
});
const FunctionCallItem = looseObject({
  type: literal('function_call'),
  call_id: nonEmpty,
  name: nonEmpty,
  namespace: OptionalText,
  arguments: string,
});
const CustomCallItem = looseObject({
  type: literal('custom_tool_call'),
  call_id: nonEmpty,
  name: nonEmpty,
  namespace: OptionalText,
  input: string,
});
const ResultItem = looseObject({
  type: oneOf(['function_call_output', 'custom_tool_call_output']),
  // The tool's name replaces it.
  call_id: OptionalText,
  name: OptionalText,
  namespace: OptionalText,
  output: Content,
});
export type ResultItem = Infer<typeof ResultItem>;

/** Of tools that the caller's machine runs. */
const ClientCall = { call_id: nonEmpty, id: OptionalText };
const ApplyPatchItem = looseObject({
  ...{ type: literal('apply_patch_call'), ...ClientCall },
  operation: looseObject({ type: string, path: string, diff: OptionalText }),
});
const ShellItem = looseObject({
  type: oneOf(['shell_call', 'local_shell_call']),
  ...{ ...ClientCall, action: jsonObject },
});
export type ClientCallItem = Infer<typeof ApplyPatchItem> | Infer<typeof ShellItem>;
const ClientOutputItem = looseObject({
  type: oneOf(['apply_patch_call_output', 'shell_call_output', 'local_shell_call_output']),
  call_id: OptionalText,
  id: OptionalText,
});
export type ClientOutputItem = Infer<typeof ClientOutputItem>;
const ReasoningItem = looseObject({
  type: literal('reasoning'),
  summary: optional(list(looseObject({ text: string }))),
  // Lenient: reasoning that is lost costs quality, not content.
  content: optional(list(looseObject({ text: OptionalText }))),
  encrypted_content: OptionalText,
});

const ToolFormat = looseObject({ type: string, syntax: OptionalText, definition: OptionalText });
/** The vendor's limit is 64; functions of other vendors' tools have longer names. */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const ToolName = matching(TOOL_NAME, 'must be 1 to 128 letters, digits, _ or -');
const FunctionTool = looseObject({
  type: literal('function'),
  name: ToolName,
  description: OptionalText,
  parameters: optional(looseObject({ type: exactOptional(literal('object')) })),
  strict: optional(boolean),
});
const CustomTool = looseObject({
  type: literal('custom'),
  name: ToolName,
  description: OptionalText,
  format: optional(ToolFormat),
});
const NamespaceTool = looseObject({
  type: literal('namespace'),
  name: ToolName,
  tools: list(
    typed({
      ...{ function: FunctionTool, custom: CustomTool },
      namespace: noneBut(['function', 'custom']),
    }),
  ),
});
/** Tools of other types are run by the vendor. */
const WireTool = typed({ function: FunctionTool, custom: CustomTool, namespace: NamespaceTool });
export type WireTool = Infer<typeof WireTool>;

/** The router's limit against oversized requests. */
const MAX_ITEMS = 10_000;
export const MAX_TOOLS = 256;
const Tools = list(WireTool, maxItems(MAX_TOOLS));

const ToolsItem = looseObject({ type: literal('additional_tools'), tools: Tools });
const ReferenceItem = looseObject({ type: literal('item_reference'), id: string });
const InputItem = typed(
  {
    message: MessageItem,
    function_call: FunctionCallItem,
    custom_tool_call: CustomCallItem,
    function_call_output: ResultItem,
    custom_tool_call_output: ResultItem,
    ...{ apply_patch_call: ApplyPatchItem, apply_patch_call_output: ClientOutputItem },
    ...{ shell_call: ShellItem, shell_call_output: ClientOutputItem },
    ...{ local_shell_call: ShellItem, local_shell_call_output: ClientOutputItem },
    reasoning: ReasoningItem,
    additional_tools: ToolsItem,
    item_reference: ReferenceItem,
  },
  MessageItem,
);
export type InputItem = Infer<typeof InputItem>;

const NamedChoice = looseObject({
  type: oneOf(['function', 'custom']),
  name: nonEmpty,
  namespace: OptionalText,
});
const WireToolChoice = union([
  oneOf(['none', 'auto', 'required']),
  NamedChoice,
  looseObject({ type: oneOf(CLIENT_TOOL_NAMES) }),
  looseObject({
    type: literal('allowed_tools'),
    mode: oneOf(['auto', 'required']),
    tools: list(looseObject({ type: string, name: OptionalText, namespace: OptionalText })),
  }),
]);
export type WireToolChoice = Infer<typeof WireToolChoice>;

const TextFormat = selectedBy(
  'type',
  {
    text: looseObject({ type: literal('text') }),
    json_object: looseObject({ type: literal('json_object') }),
    json_schema: looseObject({
      type: literal('json_schema'),
      name: OptionalText,
      description: OptionalText,
      schema: optional(jsonObject),
      strict: optional(boolean),
    }),
  },
  'must be one of text, json_object, json_schema',
);

const NO_STATE = 'needs a plan with "state"';

/** A field of the vendor's state; null and false read as absent. */
const absent = (message: string) => mapped(optional(oneOf([false], message)), () => undefined);

const Input = union([string, list(InputItem, maxItems(MAX_ITEMS, { items: minItems(1) }))]);

const MEMBERS = {
  // First: a request with one of these often lacks the input.
  previous_response_id: absent(`${NO_STATE}: send the whole conversation in input`),
  conversation: absent('is not supported: send the whole conversation in input'),
  background: absent(`${NO_STATE}: wait for the response, or stream it`),
  prompt: absent('is not supported, because no prompt is stored here: send instructions and input'),
  context_management: absent('is not supported: shorten the conversation before it is sent'),
  model: nonEmpty,
  input: Input,
  instructions: OptionalText,
  stream: optional(boolean),
  store: absent(`${NO_STATE}: leave it out, or send false`),
  max_output_tokens: optional(positive),
  temperature: optional(atMost(atLeast(number, 0), 2)),
  top_p: optional(atMost(atLeast(number, 0), 1)),
  tools: optional(Tools),
  tool_choice: optional(WireToolChoice),
  parallel_tool_calls: optional(boolean),
  text: optional(looseObject({ format: optional(TextFormat), verbosity: OptionalText })),
  reasoning: optional(looseObject({ effort: OptionalText, summary: OptionalText })),
  user: OptionalText,
  metadata: optional(jsonObject),
  truncation: optional(oneOf(['auto', 'disabled'])),
};
export const ResponsesRequest = looseObject(MEMBERS);
export type ResponsesRequest = Infer<typeof ResponsesRequest>;

/** Of instructions and tools alone, too. Nothing is stored of it. */
export const CountRequest = looseObject({
  ...MEMBERS,
  store: mapped(optional(boolean), () => undefined),
  input: mapped(optional(Input), (input) => input ?? ''),
});
