import { asArray, asRecord } from '../../bytes/json.ts';
import { openThinking } from '../../thinking/sealed.ts';
import {
  ECHOED,
  ENFORCED,
  IMPLIED,
  LABEL,
  OF_REQUEST,
  OFFERED,
  part,
  SHOWN,
  SWITCH,
  shared,
  TRANSMITTED,
  WITH_DATA,
} from './common.ts';
import {
  all,
  carried,
  carriedTo,
  harmless,
  kinds,
  list,
  namedBut,
  namedUnless,
  object,
  type Row,
  strictOf,
} from './rows.ts';

const written = part('text', all(ECHOED, 'annotations logprobs'));
const content = list(
  kinds('type', {
    ...{ input_text: written, output_text: written, text: written },
    refusal: part('refusal'),
    input_image: part('image_url', { detail: carriedTo(['chat'], 'auto'), file_id: WITH_DATA }),
    input_audio: part('input_audio'),
    input_file: part('file_data file_url filename', {
      detail: namedBut('auto'),
      file_id: WITH_DATA,
    }),
  }),
);

const item = (names: string, members: Record<string, Row> = {}) =>
  object(`type ${names}`, { ...all(ECHOED, 'id status'), ...members });
const call = item('call_id name namespace arguments input', all(ECHOED, 'caller async'));
const clientCall = item('call_id action operation', {
  ...all(ECHOED, 'caller'),
  environment: harmless('machine'),
});
const clientOutput = item('call_id output', {
  ...all(ECHOED, 'caller'),
  max_output_length: harmless('output'),
});
const output = item('call_id', { output: content, ...all(ECHOED, 'name namespace caller async') });

const spoken = object('type text');
/** Of an agent's message: sealed parts are named. */
const said = list(kinds('type', { input_text: spoken, output_text: spoken, text: spoken }));

const tool = (names: string, members: Record<string, Row> = {}) =>
  object(`type name description ${names}`, {
    defer_loading: OFFERED,
    allowed_callers: namedBut('direct'),
    async: namedBut(false),
    ...members,
  });
const ownTools = {
  function: tool('parameters', { strict: strictOf('parameters') }),
  custom: tool('', { format: object('syntax definition', { type: IMPLIED }) }),
};
const clientTools = {
  ...{ apply_patch: tool(''), local_shell: tool('') },
  // One in a container is the vendor's.
  shell: tool('', { environment: namedUnless((place) => asRecord(place)?.type === 'local') }),
};
const tools = list(
  kinds('type', {
    ...ownTools,
    ...clientTools,
    namespace: object('type name', { tools: list(kinds('type', ownTools)) }),
  }),
);
const choice = object('type name namespace');

/** All else that may be included is included, or belongs to hosted tools. */
const LOGPROBS = 'message.output_text.logprobs';

export const responses = object(
  'model instructions stream max_output_tokens',
  {
    parallel_tool_calls: SWITCH,
    ...all(carried(1), 'temperature top_p'),
    input: list(
      kinds(
        'type',
        {
          message: item('role', { content }),
          ...{ function_call: call, custom_tool_call: call },
          ...{ apply_patch_call: clientCall, apply_patch_call_output: clientOutput },
          ...{ shell_call: clientCall, shell_call_output: clientOutput },
          ...{ local_shell_call: clientCall, local_shell_call_output: clientOutput },
          ...{ function_call_output: output, custom_tool_call_output: output },
          reasoning: item('content', {
            summary: ECHOED,
            encrypted_content: namedUnless((sealed) => openThinking(String(sealed)) !== undefined),
          }),
          agent_message: item('author recipient', { content: said }),
          additional_tools: item('', { role: IMPLIED, tools }),
        },
        'message',
      ),
    ),
    tools,
    tool_choice: object('type name namespace mode', {
      tools: list(
        kinds('type', {
          ...{ function: choice, custom: choice },
          ...{ apply_patch: choice, local_shell: choice, shell: choice },
        }),
      ),
    }),
    text: object('', {
      ...shared('responses', 'text'),
      format: object('type description schema', { name: LABEL, strict: ENFORCED }),
    }),
    reasoning: object('effort', {
      ...all(SHOWN, 'summary generate_summary'),
      context: namedBut('auto'),
      mode: namedBut('standard'),
    }),
    include: namedUnless((included) => !asArray(included).includes(LOGPROBS)),
    ...all(namedBut(false), 'background store'),
    ...all(namedBut(), 'background_options context_management'),
    truncation: namedBut('disabled'),
    top_logprobs: namedBut(0),
    ...shared('responses'),
    ...all(LABEL, 'user metadata client_metadata'),
    ...OF_REQUEST,
    stream_options: object('', { include_obfuscation: TRANSMITTED }),
  },
  { store: true },
);
