import type { CallerProtocolName } from '../protocol-name.ts';
import { chat } from './fates/chat.ts';
import { messages } from './fates/messages.ts';
import { responses } from './fates/responses.ts';
import type { ObjectRow } from './fates/rows.ts';

/**
 * What becomes of each member of a caller's request on a target of another protocol. A member without a row, at any level,
 * is named in `x-router-dropped`. A row states what the encoders do, and tests hold the two to each other.
 */
export const FATES: Record<CallerProtocolName, ObjectRow> = { chat, messages, responses };

/** The paths of what an encoder decides by the target's model or by the value. */
export const PATHS = {
  chat: {
    allowed: 'tool_choice.allowed_tools',
    effort: 'reasoning_effort',
    thinking: 'reasoning_effort',
    stop: 'stop',
    parallel: 'parallel_tool_calls',
    grammar: 'tools[custom].custom.format',
    unsigned: 'messages[assistant].reasoning_content',
    signed: 'messages[assistant].reasoning_details[]',
    redacted: 'messages[assistant].reasoning_details[]',
  },
  messages: {
    allowed: 'tool_choice',
    effort: 'output_config.effort',
    thinking: 'thinking',
    stop: 'stop_sequences',
    parallel: 'tool_choice.disable_parallel_tool_use',
    grammar: 'tools[custom].format',
    unsigned: 'messages[assistant].content[thinking]',
    signed: 'messages[assistant].content[thinking]',
    redacted: 'messages[assistant].content[redacted_thinking]',
  },
  responses: {
    allowed: 'tool_choice.tools',
    effort: 'reasoning.effort',
    thinking: 'reasoning.effort',
    stop: 'stop',
    parallel: 'parallel_tool_calls',
    grammar: 'tools[custom].format',
    ...{ unsigned: 'input[reasoning]', signed: 'input[reasoning]', redacted: 'input[reasoning]' },
  },
} satisfies Record<CallerProtocolName, Record<string, string>>;
