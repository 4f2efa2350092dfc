import { isEmpty } from '../../support/omit-undefined.ts';
import type { Block, ToolCallBlock, Turn } from '../generation.ts';
import { extrasIfAny } from '../ledger/extras.ts';
import { readCarriedId } from '../tools/carried-ids.ts';
import { decodeContent } from './content.ts';
import { decodeFunctionCall, decodeFunctionResult } from './functions.ts';
import { NAME } from './name.ts';
import { decodeThoughts, placeThoughts } from './signed-thinking.ts';
import type { Message } from './wire.ts';

type MessageOf<R extends Message['role']> = Extract<Message, { role: R }>;
type WireToolCall = NonNullable<MessageOf<'assistant'>['tool_calls']>[number];

const decodeToolCall = (wire: WireToolCall): ToolCallBlock => {
  if (wire.type === 'custom') {
    const { id, type: _, custom, ...rest } = wire;
    const { name, input, ...extra } = custom;
    const nested = isEmpty(extra) ? {} : { custom: extra };
    const call = { type: 'tool-call' as const, name, arguments: input, custom: true as const };
    return { ...call, ...extrasIfAny(NAME, { ...rest, ...nested }), ...readCarriedId(id) };
  }
  const { id, type: _, function: called, ...rest } = wire;
  // The OpenAI SDK adds what it parsed to the calls that it sends back; strict providers reject it.
  const { name, arguments: text, parsed_arguments: _parsed, ...extra } = called;
  const nested = isEmpty(extra) ? {} : { function: extra };
  const call = { type: 'tool-call' as const, name, arguments: text ?? '' };
  return { ...call, ...extrasIfAny(NAME, { ...rest, ...nested }), ...readCarriedId(id) };
};

/** Client libraries add `parsed` and `provider_specific_fields` to the answers that they send back. */
const decodeAssistant = (message: MessageOf<'assistant'>, index: number): Turn => {
  const {
    role,
    content,
    refusal,
    reasoning_content: reasoning,
    reasoning_details: details,
    tool_calls: calls,
    function_call: called,
    parsed: _parsed,
    provider_specific_fields: _specific,
    ...fields
  } = message;
  const parts = decodeContent(content, `messages.${index}`);
  const later: Block[] = [
    ...(refusal ? [{ type: 'text' as const, text: refusal, refusal: true as const }] : []),
    ...(calls ?? []).map(decodeToolCall),
    ...(called ? [decodeFunctionCall(called, index)] : []),
  ];
  const thoughts = decodeThoughts(details);
  if (thoughts.length > 0) {
    return { role, blocks: placeThoughts(thoughts, parts, later), ...extrasIfAny(NAME, fields) };
  }
  const thinking: Block[] = reasoning ? [{ type: 'thinking', text: reasoning }] : [];
  // Details of another service are for the target that wrote them.
  const extras = extrasIfAny(NAME, { ...fields, reasoning_details: details });
  return { role, blocks: [...thinking, ...parts, ...later], ...extras };
};

const decodeToolMessage = (message: MessageOf<'tool'>, param: string): Turn => {
  const { role: _, content, tool_call_id: sentId, ...fields } = message;
  const callId = readCarriedId(sentId).id;
  const result = { type: 'tool-result' as const, callId, content: decodeContent(content, param) };
  return { role: 'user', blocks: [{ ...result, ...extrasIfAny(NAME, fields) }] };
};

const decodeMessage = (message: Message, index: number, called: number | undefined): Turn => {
  const param = `messages.${index}`;
  switch (message.role) {
    case 'system':
    case 'developer':
    case 'user': {
      const { role, content, ...fields } = message;
      const turn = { blocks: decodeContent(content, param), ...extrasIfAny(NAME, fields) };
      // `developer` is the newer name of a role; every upstream knows `system`.
      return { role: role === 'user' ? role : 'system', ...turn };
    }
    case 'assistant':
      return decodeAssistant(message, index);
    case 'tool':
      return decodeToolMessage(message, param);
    case 'function':
      return decodeFunctionResult(message, index, called);
    default:
      return message satisfies never;
  }
};

export const decodeMessages = (messages: Message[]): Turn[] => {
  let called: number | undefined;
  return messages.map((message, index) => {
    if (message.role === 'assistant' && message.function_call !== undefined) called = index;
    return decodeMessage(message, index, called);
  });
};
