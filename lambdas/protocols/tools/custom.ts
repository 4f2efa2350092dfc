import { mapOnce } from '../../support/memo.ts';
import { omitUndefined } from '../../support/objects.ts';
import { asString, readJsonObject } from '../bytes/json.ts';
import type { Fitted } from '../fit-request.ts';
import type { Block, GenerationRequest, NativeTool, Tool, Turn } from '../generation.ts';
import { PATHS } from '../ledger/paths.ts';

/** Parameters of the function that represents a custom tool, whose input is one text. */
const TEXT_INPUT = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
};

type CustomTool = {
  description?: string | undefined;
  grammar?: { syntax?: string | undefined; definition?: string | undefined } | undefined;
};

/**
 * A custom tool, and the function that represents it: the model reads the grammar in the description, where no other form can
 * enforce it.
 */
export const customTool = ({
  description,
  grammar,
}: CustomTool): Pick<Tool, 'description' | 'parameters' | 'custom'> => {
  const rule =
    grammar?.definition &&
    `The input must match this ${grammar.syntax ?? ''} grammar:\n${grammar.definition}`;
  const described = [description, rule].filter(Boolean).join('\n\n') || undefined;
  return {
    ...omitUndefined({ description: described }),
    parameters: TEXT_INPUT,
    custom: omitUndefined({ description, grammar }),
  };
};

export const hasCustomTool = ({ tools = [] }: GenerationRequest, name: string): boolean =>
  tools.some((tool) => !('native' in tool) && tool.custom !== undefined && tool.name === name);

const asFunction = (tool: Tool | NativeTool): Tool | NativeTool => {
  if ('native' in tool || !tool.custom) return tool;
  const { custom: _, extras: _extras, ...represented } = tool;
  return represented;
};

const asFunctionCall = (block: Block): Block => {
  if (block.type !== 'tool-call' || !block.custom) return block;
  const { custom: _, ...call } = block;
  return { ...call, arguments: JSON.stringify({ input: call.arguments }) };
};

const asFunctionCalls = mapOnce((turn: Turn) =>
  turn.blocks.some((block) => block.type === 'tool-call' && block.custom === true)
    ? { ...turn, blocks: turn.blocks.map(asFunctionCall) }
    : turn,
);

/** What custom tools lose as functions: nothing enforces their grammar. */
export const lostGrammar = ({ tools = [], extras }: GenerationRequest): string[] =>
  tools.some((tool) => !('native' in tool) && tool.custom?.grammar)
    ? [PATHS[extras.protocol].grammar]
    : [];

/** The request for a target that gets functions in place of custom tools, in its history too. */
export const fitCustomTools = (request: GenerationRequest): Fitted => {
  const { tools, turns } = request;
  const functions = tools && { tools: tools.map(asFunction) };
  return {
    request: { ...request, ...functions, turns: asFunctionCalls(turns) },
    dropped: lostGrammar(request),
  };
};

/** An escape that the token cap cut. */
const CUT_ESCAPE = /\\(?:u[0-9a-f]{0,3})?$/i;

/**
 * The text in the arguments of such a function, also in a part of them. A model that ignores the schema has
 * another member, or none.
 */
export const unwrapInput = (text: string): string => {
  const fields = readJsonObject(text) ?? readJsonObject(`${text.replace(CUT_ESCAPE, '')}"}`);
  if (!fields) return text;
  const [only, ...others] = Object.values(fields);
  return asString(fields.input) ?? (others.length === 0 ? asString(only) : undefined) ?? text;
};
