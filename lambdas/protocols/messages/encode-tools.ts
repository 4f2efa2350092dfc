import { omitUndefined } from '../../support/objects.ts';
import { asRecord, type Json } from '../bytes/json.ts';
import type { GenerationRequest, NativeTool, Tool } from '../generation.ts';
import { fieldsOf } from './encode-content.ts';
import { NAME } from './name.ts';
import { isWithinStrict } from './response-format.ts';
import { originalTool } from './tools.ts';

/** Chat callers put a tool's extra fields next to its `function` or inside it. */
const toolFields = ({ extras }: Tool): Json => {
  const inside = asRecord(extras?.fields.function);
  return {
    ...fieldsOf(extras && inside && { protocol: extras.protocol, fields: inside }),
    ...fieldsOf(extras),
  };
};

/** Strict mode accepts fewer schemas than chat's. */
const strictOf = ({ strict, parameters }: Tool, sameProtocol: boolean): boolean | undefined =>
  sameProtocol || !strict || isWithinStrict(parameters) ? strict : undefined;

const encodeTool = (tool: Tool | NativeTool, sameProtocol: boolean): Json[] => {
  if ('native' in tool) return tool.protocol === NAME ? [tool.value] : [];
  const original = originalTool(tool);
  if (original) return [original];
  const { name, description, parameters } = tool;
  const strict = strictOf(tool, sameProtocol);
  // The vendor requires an object schema; chat functions may have no parameters.
  const schema = { type: 'object', ...parameters };
  return [omitUndefined({ ...toolFields(tool), name, description, input_schema: schema, strict })];
};

export const encodeTools = ({ tools = [], extras }: GenerationRequest): Json[] =>
  tools.flatMap((tool) => encodeTool(tool, extras.protocol === NAME));
