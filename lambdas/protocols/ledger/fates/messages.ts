import {
  ECHOED,
  IMPLIED,
  LABEL,
  OFFERED,
  ON_CALL,
  ON_TOOL,
  part,
  SHOWN,
  SOURCE,
  shared,
  TEXTS,
  TRANSMITTED,
} from './common.ts';
import {
  all,
  cache,
  carried,
  carriedTo,
  essentials,
  harmless,
  kinds,
  list,
  namedBut,
  object,
  strictOf,
} from './rows.ts';

const citations = object('', { enabled: namedBut(false) });
const plainText = object('type data', { media_type: namedBut('text/plain') });

const inResult = {
  text: part('text', { citations }),
  image: part('', { source: SOURCE }),
  document: part('title', {
    source: kinds('type', { text: plainText, base64: SOURCE, url: SOURCE, content: SOURCE }),
    citations,
  }),
  search_result: part('title source', { content: TEXTS, citations }),
  tool_reference: part('tool_name'),
};
const blocks = {
  ...inResult,
  compaction: part('', { content: TEXTS }),
  tool_result: part('tool_use_id is_error', { content: list(kinds('type', inResult)) }),
  tool_use: object('type id name input', {
    ...ON_CALL,
    caller: object('', { type: namedBut('direct') }),
  }),
  thinking: object('type thinking signature', ON_CALL),
  redacted_thinking: object('type data', ON_CALL),
};
const said = object('role', { content: list(kinds('type', blocks)) });
const answered = { ...blocks, text: part('text', { citations: ECHOED }) };

/** Of tools that the caller's machine runs; the size of its screen is in the description. */
const clientTool = object('type name display_width_px display_height_px', {
  ...ON_TOOL,
  defer_loading: OFFERED,
  allowed_callers: namedBut('direct'),
});

const schemaFormat = object('schema', { type: IMPLIED });

export const messages = object('model max_tokens stream stop_sequences', {
  ...all(carried(1), 'temperature top_p'),
  top_k: carriedTo(['gemini']),
  system: list(kinds('type', inResult)),
  messages: list(
    kinds('role', {
      system: said,
      user: said,
      assistant: object('role', { content: list(kinds('type', answered)) }),
    }),
  ),
  tools: list(
    kinds(
      'type',
      {
        custom: object('type name description input_schema', {
          ...ON_TOOL,
          strict: strictOf('input_schema'),
          defer_loading: OFFERED,
          eager_input_streaming: TRANSMITTED,
          allowed_callers: namedBut('direct'),
        }),
      },
      'custom',
      { pattern: /^(?:bash|text_editor|memory|computer)_\d{8}$/, row: clientTool },
    ),
  ),
  tool_choice: object('type name disable_parallel_tool_use'),
  thinking: object('', { ...all(harmless('effort'), 'type budget_tokens'), display: SHOWN }),
  ...shared('messages'),
  output_config: object('effort', { format: schemaFormat, ...shared('messages', 'output_config') }),
  output_format: schemaFormat,
  metadata: LABEL,
  cache_control: cache('request'),
  context_management: object('', {
    edits: list(kinds('type', { clear_thinking_20251015: harmless('thinking') })),
  }),
  safeguards: harmless('agent'),
  service_tier: namedBut('auto', 'standard_only'),
  speed: namedBut('standard'),
  ...essentials('messages'),
});
