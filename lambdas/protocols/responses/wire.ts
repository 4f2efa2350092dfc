import * as s from '../../support/schema.ts';
import { CLIENT_TOOL_NAMES } from './client-tools.ts';

const OptionalText = s.optional(s.string);
/** Parts of chat and messages, as users of other endpoints send them. */
const Foreign = s.noneBut([
  'input_text',
  'output_text',
  'refusal',
  'input_image',
  'input_file',
  'input_audio',
]);
/** The responses request. Loose: members that are not listed are ignored. */
const TextPart = s.looseObject({
  type: s.oneOf(['input_text', 'output_text', 'text']),
  text: s.string,
});
const ContentPart = s.typed({
  ...{ input_text: TextPart, output_text: TextPart, text: TextPart },
  refusal: s.kind('refusal', { refusal: s.string }),
  input_image: s.kind('input_image', {
    image_url: OptionalText,
    file_id: OptionalText,
    detail: OptionalText,
  }),
  input_file: s.kind('input_file', {
    file_data: OptionalText,
    file_url: OptionalText,
    file_id: OptionalText,
    filename: OptionalText,
  }),
  input_audio: s.kind('input_audio', { input_audio: s.jsonObject }),
  ...{ image_url: Foreign, image: Foreign, file: Foreign, document: Foreign },
});
export type ContentPart = s.Infer<typeof ContentPart>;

const Content = s.union([s.string, s.list(ContentPart)]);
export type Content = s.Infer<typeof Content>;

const MessageItem = s.looseObject({
  type: s.withDefault(s.literal('message'), 'message'),
  role: s.oneOf(['user', 'assistant', 'system', 'developer']),
  content: Content,
});
const FunctionCallItem = s.kind('function_call', {
  call_id: s.nonEmpty,
  name: s.nonEmpty,
  namespace: OptionalText,
  arguments: s.string,
});
const CustomCallItem = s.kind('custom_tool_call', {
  call_id: s.nonEmpty,
  name: s.nonEmpty,
  namespace: OptionalText,
  input: s.string,
});
const ResultItem = s.looseObject({
  type: s.oneOf(['function_call_output', 'custom_tool_call_output']),
  // The tool's name replaces it.
  call_id: OptionalText,
  name: OptionalText,
  namespace: OptionalText,
  output: Content,
});
export type ResultItem = s.Infer<typeof ResultItem>;

/** Of tools that the caller's machine runs. */
const ClientCall = { call_id: s.nonEmpty, id: OptionalText };
const ApplyPatchItem = s.looseObject({
  ...{ type: s.literal('apply_patch_call'), ...ClientCall },
  operation: s.looseObject({ type: s.string, path: s.string, diff: OptionalText }),
});
const ShellItem = s.looseObject({
  type: s.oneOf(['shell_call', 'local_shell_call']),
  ...{ ...ClientCall, action: s.jsonObject },
});
export type ClientCallItem = s.Infer<typeof ApplyPatchItem> | s.Infer<typeof ShellItem>;
const ClientOutputItem = s.looseObject({
  type: s.oneOf(['apply_patch_call_output', 'shell_call_output', 'local_shell_call_output']),
  call_id: OptionalText,
  id: OptionalText,
});
export type ClientOutputItem = s.Infer<typeof ClientOutputItem>;
const ReasoningItem = s.kind('reasoning', {
  summary: s.optional(s.list(s.looseObject({ text: s.string }))),
  // Lenient: reasoning that is lost costs quality, not content.
  content: s.optional(s.list(s.looseObject({ text: OptionalText }))),
  encrypted_content: OptionalText,
});
/** What an agent of Codex said to another one; parts of other types are the vendor's, sealed. */
const AgentMessageItem = s.kind('agent_message', {
  ...{ author: OptionalText, recipient: OptionalText },
  content: s.list(s.typed({ input_text: TextPart, output_text: TextPart, text: TextPart })),
});

const ToolFormat = s.looseObject({
  type: s.string,
  syntax: OptionalText,
  definition: OptionalText,
});
/** The vendor's limit is 64; functions of other vendors' tools have longer names. */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const ToolName = s.matching(TOOL_NAME, 'must be 1 to 128 letters, digits, _ or -');
const FunctionTool = s.kind('function', {
  name: ToolName,
  description: OptionalText,
  parameters: s.optional(s.looseObject({ type: s.exactOptional(s.literal('object')) })),
  strict: s.optional(s.boolean),
});
const CustomTool = s.kind('custom', {
  name: ToolName,
  description: OptionalText,
  format: s.optional(ToolFormat),
});
const NamespaceTool = s.kind('namespace', {
  name: ToolName,
  tools: s.list(
    s.typed({
      ...{ function: FunctionTool, custom: CustomTool },
      namespace: s.noneBut(['function', 'custom']),
    }),
  ),
});
/** Tools of other types are run by the vendor. */
const WireTool = s.typed({ function: FunctionTool, custom: CustomTool, namespace: NamespaceTool });
export type WireTool = s.Infer<typeof WireTool>;

/** The router's limit against oversized requests. */
const MAX_ITEMS = 10_000;
export const MAX_TOOLS = 256;
const Tools = s.list(WireTool, s.maxItems(MAX_TOOLS));

const ToolsItem = s.kind('additional_tools', { tools: Tools });
const ReferenceItem = s.kind('item_reference', { id: s.string });
const InputItem = s.typed(
  {
    message: MessageItem,
    function_call: FunctionCallItem,
    custom_tool_call: CustomCallItem,
    function_call_output: ResultItem,
    custom_tool_call_output: ResultItem,
    ...{ apply_patch_call: ApplyPatchItem, apply_patch_call_output: ClientOutputItem },
    ...{ shell_call: ShellItem, shell_call_output: ClientOutputItem },
    ...{ local_shell_call: ShellItem, local_shell_call_output: ClientOutputItem },
    ...{ reasoning: ReasoningItem, agent_message: AgentMessageItem },
    additional_tools: ToolsItem,
    item_reference: ReferenceItem,
  },
  MessageItem,
);
export type InputItem = s.Infer<typeof InputItem>;

const NamedChoice = s.looseObject({
  type: s.oneOf(['function', 'custom']),
  name: s.nonEmpty,
  namespace: OptionalText,
});
const WireToolChoice = s.union([
  s.oneOf(['none', 'auto', 'required']),
  NamedChoice,
  s.looseObject({ type: s.oneOf(CLIENT_TOOL_NAMES) }),
  s.kind('allowed_tools', {
    mode: s.oneOf(['auto', 'required']),
    tools: s.list(s.looseObject({ type: s.string, name: OptionalText, namespace: OptionalText })),
  }),
]);
export type WireToolChoice = s.Infer<typeof WireToolChoice>;

const TextFormat = s.selectedBy(
  'type',
  {
    text: s.kind('text', {}),
    json_object: s.kind('json_object', {}),
    json_schema: s.kind('json_schema', {
      name: OptionalText,
      description: OptionalText,
      schema: s.optional(s.jsonObject),
      strict: s.optional(s.boolean),
    }),
  },
  'must be one of text, json_object, json_schema',
);

const NO_STATE = 'needs a plan with "state"';

/** A field of the vendor's state; null and false read as absent. */
const absent = (message: string) =>
  s.mapped(s.optional(s.oneOf([false], message)), () => undefined);

const Input = s.union([
  s.string,
  s.list(InputItem, s.maxItems(MAX_ITEMS, { items: s.minItems(1) })),
]);

const MEMBERS = {
  // First: a request with one of these often lacks the input.
  previous_response_id: absent(`${NO_STATE}: send the whole conversation in input`),
  conversation: absent('is not supported: send the whole conversation in input'),
  background: absent(`${NO_STATE}: wait for the response, or stream it`),
  prompt: absent('is not supported, because no prompt is stored here: send instructions and input'),
  model: s.nonEmpty,
  input: Input,
  instructions: OptionalText,
  stream: s.optional(s.boolean),
  store: absent(`${NO_STATE}: leave it out, or send false`),
  max_output_tokens: s.optional(s.positive),
  temperature: s.optional(s.atMost(s.atLeast(s.number, 0), 2)),
  top_p: s.optional(s.atMost(s.atLeast(s.number, 0), 1)),
  tools: s.optional(Tools),
  tool_choice: s.optional(WireToolChoice),
  parallel_tool_calls: s.optional(s.boolean),
  text: s.optional(s.looseObject({ format: s.optional(TextFormat), verbosity: OptionalText })),
  reasoning: s.optional(s.looseObject({ effort: OptionalText, summary: OptionalText })),
  user: OptionalText,
  safety_identifier: OptionalText,
  prompt_cache_key: OptionalText,
  metadata: s.optional(s.jsonObject),
  truncation: s.optional(s.oneOf(['auto', 'disabled'])),
};
export const ResponsesRequest = s.looseObject(MEMBERS);
export type ResponsesRequest = s.Infer<typeof ResponsesRequest>;

/** Of instructions and tools alone, too. Nothing is stored of it. */
export const CountRequest = s.looseObject({
  ...MEMBERS,
  store: s.mapped(s.optional(s.boolean), () => undefined),
  input: s.mapped(s.optional(Input), (input) => input ?? ''),
});
