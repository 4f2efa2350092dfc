import { withoutSpelling } from '../../support/objects.ts';
import type { CallerProtocolName } from '../protocol-name.ts';

/** A name is text of the caller's; only a plain one may be in a header. */
const PLAIN = /^[\w.-]{1,64}$/;
export const plain = (name: string): string => (PLAIN.test(name) ? name : '*');

/** The paths of what an encoder decides by the target's model or by the value. */
export const PATHS = {
  chat: {
    allowed: 'tool_choice.allowed_tools',
    effort: 'reasoning_effort',
    format: 'response_format',
    thinking: 'reasoning_effort',
    parallel: 'parallel_tool_calls',
    grammar: 'tools[custom].custom.format',
    schema: 'tools[].function.parameters',
    unsigned: 'messages[assistant].reasoning_content',
    signed: 'messages[assistant].reasoning_details[]',
    redacted: 'messages[assistant].reasoning_details[]',
  },
  messages: {
    allowed: 'tool_choice',
    effort: 'output_config.effort',
    format: 'output_config.format',
    thinking: 'thinking',
    parallel: 'tool_choice.disable_parallel_tool_use',
    grammar: 'tools[custom].format',
    schema: 'tools[].input_schema',
    unsigned: 'messages[assistant].content[thinking]',
    signed: 'messages[assistant].content[thinking]',
    redacted: 'messages[assistant].content[redacted_thinking]',
  },
  responses: {
    allowed: 'tool_choice.tools',
    effort: 'reasoning.effort',
    format: 'text.format',
    thinking: 'reasoning.effort',
    parallel: 'parallel_tool_calls',
    grammar: 'tools[custom].format',
    schema: 'tools[].parameters',
    ...{ unsigned: 'input[reasoning]', signed: 'input[reasoning]', redacted: 'input[reasoning]' },
  },
} satisfies Record<CallerProtocolName, Record<string, string>>;

export type IsDefault = (value: unknown) => boolean;

export const isOneOf =
  (values: readonly unknown[]): IsDefault =>
  (value) =>
    [value].flat().every((one) => values.includes(withoutSpelling(one)));

/** Fields without which the response is another one unless they have one of these values, so that only targets of the protocol serve them. */
export const ESSENTIAL: Record<CallerProtocolName, Record<string, unknown[]>> = {
  chat: { web_search_options: [], audio: [], modalities: ['text'], n: [1] },
  messages: { mcp_servers: [] },
  responses: {},
};
