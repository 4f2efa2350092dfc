import { asRecord, asString } from '../../bytes/json.ts';
import { isSigned } from '../../thinking/origin.ts';
import {
  cached,
  ECHOED,
  ENFORCED,
  IMPLIED,
  LABEL,
  OF_REQUEST,
  ON_TOOL,
  part,
  SOURCE,
  SWITCH,
  shared,
  TRANSMITTED,
  text,
  WITH_DATA,
} from './common.ts';
import {
  all,
  carried,
  carriedTo,
  essentials,
  harmless,
  kinds,
  list,
  namedBut,
  namedUnless,
  object,
  type Row,
  strictOf,
} from './rows.ts';

const borrowedImage = part('', { source: SOURCE });

const sound = object('', { data: carriedTo(['gemini']), format: carriedTo(['gemini'], 'wav') });

const chatContent = list(
  kinds('type', {
    text,
    refusal: part('refusal'),
    image_url: part('', { image_url: object('url', { detail: carriedTo(['responses'], 'auto') }) }),
    file: part('', { file: object('file_data filename', { file_id: WITH_DATA }) }),
    input_audio: object('type', { input_audio: sound }),
    tool_use: part('id name input'),
    tool_result: part('tool_use_id is_error', {
      content: list(kinds('type', { text, image: borrowedImage })),
    }),
    image: borrowedImage,
  }),
);
const chatMessage = (names: string, members?: Record<string, Row>) =>
  cached(`role ${names}`, { content: chatContent, ...members });

const ofProvider = all(ECHOED, 'index extra_content provider_specific_fields');
const calledFunction = object('name arguments', { parsed_arguments: ECHOED });

const chatAssistant = chatMessage('refusal reasoning_content', {
  ...all(ECHOED, 'annotations parsed provider_specific_fields'),
  // Those of another service are for that service.
  reasoning_details: list(
    namedUnless((detail) => {
      const { signature, data } = asRecord(detail) ?? {};
      return isSigned(asString(signature ?? data));
    }),
  ),
  function_call: calledFunction,
  tool_calls: list(
    kinds(
      'type',
      {
        function: object('id type', { ...ofProvider, function: calledFunction }),
        custom: object('id type', { ...ofProvider, custom: object('name input') }),
      },
      'function',
    ),
  ),
});

const functionTool = object('name description parameters', {
  ...ON_TOOL,
  strict: strictOf('parameters'),
});
const grammar = object('syntax definition');
const chosen = { function: object('name'), custom: object('name') };

export const chat = object('model stream max_tokens max_completion_tokens stop reasoning_effort', {
  parallel_tool_calls: SWITCH,
  top_k: carriedTo(['messages', 'gemini']),
  ...shared('chat'),
  ...all(carried(1), 'temperature top_p'),
  messages: list(
    kinds('role', {
      system: chatMessage(''),
      developer: chatMessage(''),
      user: chatMessage(''),
      assistant: chatAssistant,
      tool: chatMessage('tool_call_id', { name: IMPLIED }),
      function: chatMessage('name'),
    }),
  ),
  tools: list(
    kinds(
      'type',
      {
        function: object('type', { ...ON_TOOL, function: functionTool }),
        custom: object('type name description input_schema', {
          ...ON_TOOL,
          custom: object('name description', { format: object('', { type: IMPLIED, grammar }) }),
        }),
      },
      'custom',
    ),
  ),
  tool_choice: object('type name disable_parallel_tool_use', {
    ...chosen,
    allowed_tools: object('mode', { tools: list(object('type', chosen)) }),
  }),
  functions: list(functionTool),
  function_call: object('name'),
  response_format: object('type', {
    json_schema: object('description schema', { name: LABEL, strict: ENFORCED }),
  }),
  stream_options: object('', all(TRANSMITTED, 'include_usage include_obfuscation')),
  top_logprobs: namedBut(0),
  ...all(namedBut(false), 'logprobs store'),
  ...all(LABEL, 'user metadata'),
  ...OF_REQUEST,
  prediction: harmless('guess'),
  ...essentials('chat'),
});
