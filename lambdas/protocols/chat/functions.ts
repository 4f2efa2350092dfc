import { asRecord, type Json } from '../bytes/json.ts';
import type {
  Extras,
  GenerationRequest,
  ToolCallBlock,
  ToolChoice,
  ToolResultBlock,
  Turn,
} from '../generation.ts';
import { extraFieldsFor, extrasIfAny } from '../ledger/extras.ts';
import { fittingToolName } from '../tools/names.ts';
import { decodeContent } from './content.ts';
import type { ChatRequest, Message, WireTool, WireToolChoice } from './wire.ts';

/**
 * The form that tools had before 2023: `functions`, one `function_call` per message without an id, results
 * of the role `function`. The canonical form has tools only; what came in this form is marked in `extras`,
 * so that a target and a client of the protocol get it back in this form.
 */
export const MARK = { functions: true };

const isMarked = (extras: Extras | undefined): boolean =>
  extraFieldsFor('chat', extras).functions === true;

/** Whether the client reads calls in this form. */
export const usesFunctions = ({ extras }: GenerationRequest): boolean => isMarked(extras);

export const isOfFunction = ({ extras }: ToolCallBlock | ToolResultBlock): boolean =>
  isMarked(extras);

/** The fields without the mark. */
export const unmarked = (extras: Extras | undefined): Json => {
  const { functions: _, ...fields } = extraFieldsFor('chat', extras);
  return fields;
};

// --- wire -> canonical ---

export const asTool = (one: NonNullable<ChatRequest['functions']>[number]): WireTool => ({
  type: 'function',
  function: one,
});

export const asToolChoice = (choice: NonNullable<ChatRequest['function_call']>): WireToolChoice =>
  typeof choice === 'object' ? { type: 'function', function: choice } : choice;

type MessageOf<R extends Message['role']> = Extract<Message, { role: R }>;

/** The id of the call in a message; the vendor's form has none. */
const callIdAt = (index: number): string => `call_function_${index}`;

export const decodeFunctionCall = (
  { name, arguments: text, ...rest }: NonNullable<MessageOf<'assistant'>['function_call']>,
  index: number,
): ToolCallBlock => {
  const call = { type: 'tool-call' as const, id: callIdAt(index), name };
  return { ...call, arguments: text ?? '', ...extrasIfAny('chat', { ...rest, ...MARK }) };
};

/** Belongs to the last call before it, in the message `called`; without one, the check of the conversation names the function. */
export const decodeFunctionResult = (
  { role: _, content, ...fields }: MessageOf<'function'>,
  index: number,
  called: number | undefined,
): Turn => {
  const result: ToolResultBlock = {
    type: 'tool-result',
    callId: called === undefined ? fields.name : callIdAt(called),
    content: decodeContent(content, `messages.${index}`),
    ...extrasIfAny('chat', { ...fields, ...MARK }),
  };
  return { role: 'user', blocks: [result] };
};

// --- canonical -> wire ---

export const encodeFunctions = (tools: Json[], choice: ToolChoice | undefined): Json => ({
  functions: tools.map((tool) => asRecord(tool.function)),
  function_call: choice?.type === 'tool' ? { name: fittingToolName(choice.name) } : choice?.type,
});

export const encodeFunctionCall = ({ name, arguments: text, extras }: ToolCallBlock): Json => ({
  ...unmarked(extras),
  name: fittingToolName(name),
  arguments: text || '{}',
});
