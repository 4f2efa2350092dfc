import * as z from 'zod';

/** The part of the responses protocol's published types that this router writes: required and nullable as there. */
const Status = z.enum(['in_progress', 'completed', 'incomplete']);
const Count = z.int().nonnegative();

const Usage = z.strictObject({
  input_tokens: Count,
  input_tokens_details: z.strictObject({ cached_tokens: Count, cache_write_tokens: Count }),
  output_tokens: Count,
  output_tokens_details: z.strictObject({ reasoning_tokens: Count }),
  total_tokens: Count,
});

const TextPart = z.strictObject({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.tuple([]),
  logprobs: z.tuple([]),
});
const RefusalPart = z.strictObject({ type: z.literal('refusal'), refusal: z.string() });
const Part = z.union([TextPart, RefusalPart]);
const SummaryPart = z.strictObject({ type: z.literal('summary_text'), text: z.string() });

const MessageItem = z.strictObject({
  id: z.string().startsWith('msg_'),
  type: z.literal('message'),
  status: Status,
  role: z.literal('assistant'),
  content: z.array(Part),
});
const ReasoningItem = z.strictObject({
  id: z.string().startsWith('rs_'),
  type: z.literal('reasoning'),
  summary: z.array(SummaryPart),
  encrypted_content: z.string().min(1).optional(),
});
const CallFields = {
  id: z.string().regex(/^(?:fc|ctc)_/),
  call_id: z.string().min(1),
  name: z.string().min(1),
  namespace: z.string().optional(),
};
const FunctionCall = z.strictObject({
  ...CallFields,
  type: z.literal('function_call'),
  status: Status,
  arguments: z.string(),
});
const CustomCall = z.strictObject({
  ...CallFields,
  type: z.literal('custom_tool_call'),
  input: z.string(),
});
const CLIENT_CALL = { call_id: z.string().min(1), status: Status };
const ApplyPatchCall = z.strictObject({
  ...CLIENT_CALL,
  id: z.string().startsWith('apc_'),
  type: z.literal('apply_patch_call'),
  operation: z.strictObject({
    type: z.enum(['create_file', 'update_file', 'delete_file']),
    path: z.string(),
    diff: z.string().optional(),
  }),
});
const ShellCall = z.strictObject({
  ...CLIENT_CALL,
  id: z.string().startsWith('shc_'),
  type: z.literal('shell_call'),
  action: z.strictObject({
    commands: z.array(z.string()).min(1),
    timeout_ms: z.number().nullable(),
    max_output_length: z.number().nullable(),
  }),
  environment: z.strictObject({ type: z.literal('local') }),
});
const LocalShellCall = z.strictObject({
  ...CLIENT_CALL,
  id: z.string().startsWith('lsc_'),
  type: z.literal('local_shell_call'),
  action: z.looseObject({ type: z.literal('exec'), command: z.array(z.string()).min(1) }),
});
const ClientCall = z.union([ApplyPatchCall, ShellCall, LocalShellCall]);
export const OutputItem = z.union([
  MessageItem,
  ReasoningItem,
  FunctionCall,
  CustomCall,
  ClientCall,
]);

const Failure = z.strictObject({ code: z.string().min(1), message: z.string().min(1) });
const IncompleteDetails = z.strictObject({
  reason: z.enum(['max_output_tokens', 'content_filter']),
});

const ResponseObject = z.strictObject({
  id: z.string().startsWith('resp_'),
  object: z.literal('response'),
  access_programs: z.null(),
  created_at: z.int(),
  completed_at: z.int().nullable(),
  status: z.enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
  background: z.boolean(),
  error: Failure.nullable(),
  frequency_penalty: z.literal(0),
  incomplete_details: IncompleteDetails.nullable(),
  instructions: z.null(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.null(),
  metadata: z.record(z.string(), z.unknown()),
  model: z.string(),
  output: z.array(OutputItem),
  parallel_tool_calls: z.boolean(),
  presence_penalty: z.literal(0),
  previous_response_id: z.string().startsWith('resp_').nullable(),
  prompt_cache_key: z.string().nullable(),
  reasoning: z.looseObject({ effort: z.string().nullable(), summary: z.string().nullable() }),
  safety_identifier: z.string().nullable(),
  service_tier: z.string(),
  store: z.boolean(),
  temperature: z.number(),
  text: z.looseObject({ format: z.looseObject({ type: z.string() }) }),
  tool_choice: z.union([z.string(), z.looseObject({ type: z.string() })]),
  tools: z.tuple([]),
  top_logprobs: z.literal(0),
  top_p: z.number(),
  truncation: z.literal('disabled'),
  usage: Usage.nullable(),
});

/** A whole response, and the last event's: it has ended and was counted. */
export const EndedResponse = ResponseObject.extend({
  status: z.enum(['completed', 'incomplete']),
  error: z.null(),
  usage: Usage,
});

const ErrorBody = z.strictObject({
  type: z.string().min(1),
  message: z.string().min(1),
  param: z.string().nullable(),
  code: z.string().nullable(),
});

export const ResponsesError = z.strictObject({ error: ErrorBody });

const event = <T extends string, F extends z.core.$ZodLooseShape>(type: T, fields: F) =>
  z.strictObject({ type: z.literal(type), sequence_number: Count, ...fields });

const InOutput = { output_index: Count };
const InItem = { ...InOutput, item_id: z.string().min(1) };
const InContent = { ...InItem, content_index: z.literal(0) };
const InSummary = { ...InItem, summary_index: z.literal(0) };
const NoLogprobs = { logprobs: z.tuple([]) };

export const ResponsesEvent = z.discriminatedUnion('type', [
  event('response.created', { response: ResponseObject }),
  event('response.in_progress', { response: ResponseObject }),
  event('response.completed', { response: EndedResponse }),
  event('response.incomplete', { response: EndedResponse }),
  event('response.failed', { response: ResponseObject.extend({ error: Failure }) }),
  event('response.output_item.added', { ...InOutput, item: OutputItem }),
  event('response.output_item.done', { ...InOutput, item: OutputItem }),
  event('response.content_part.added', { ...InContent, part: Part }),
  event('response.content_part.done', { ...InContent, part: Part }),
  event('response.output_text.delta', { ...InContent, delta: z.string(), ...NoLogprobs }),
  event('response.output_text.done', { ...InContent, text: z.string(), ...NoLogprobs }),
  event('response.refusal.delta', { ...InContent, delta: z.string() }),
  event('response.refusal.done', { ...InContent, refusal: z.string() }),
  event('response.function_call_arguments.delta', { ...InItem, delta: z.string() }),
  event('response.function_call_arguments.done', { ...InItem, arguments: z.string() }),
  event('response.custom_tool_call_input.delta', { ...InItem, delta: z.string() }),
  event('response.custom_tool_call_input.done', { ...InItem, input: z.string() }),
  event('response.reasoning_summary_part.added', { ...InSummary, part: SummaryPart }),
  event('response.reasoning_summary_part.done', { ...InSummary, part: SummaryPart }),
  event('response.reasoning_summary_text.delta', { ...InSummary, delta: z.string() }),
  event('response.reasoning_summary_text.done', { ...InSummary, text: z.string() }),
  event('error', { ...ErrorBody.omit({ type: true }).shape, error: ErrorBody }),
]);
export type ResponsesEvent = z.infer<typeof ResponsesEvent>;
