import { omitUndefined } from '../../support/omit-undefined.ts';
import { asString, readJsonObject } from '../bytes/json.ts';
import type { GenerationRequest, Tool } from '../generation.ts';

/** Parameters of the function that represents a custom tool, whose input is one text. */
const TEXT_INPUT = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
};

type CustomTool = {
  description?: string | undefined;
  format?: { syntax?: string | undefined; definition?: string | undefined } | undefined;
};

/**
 * The function that represents a custom tool. The model reads the tool's grammar in the description; no
 * other protocol can enforce it.
 */
export const functionFor = ({
  description,
  format,
}: CustomTool): Pick<Tool, 'description' | 'parameters'> => {
  const grammar =
    format?.definition &&
    `The input must match this ${format.syntax ?? ''} grammar:\n${format.definition}`;
  const described = [description, grammar].filter(Boolean).join('\n\n') || undefined;
  return { ...omitUndefined({ description: described }), parameters: TEXT_INPUT };
};

/** Whether a request offers a custom tool of the name. */
export const hasCustomTool = ({ tools = [] }: GenerationRequest, name: string): boolean =>
  tools.some((tool) => !('native' in tool) && tool.custom === true && tool.name === name);

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
