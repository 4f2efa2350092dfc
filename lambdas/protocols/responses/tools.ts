import { invalidRequest } from '../../support/errors.ts';
import { omitUndefined } from '../../support/omit-undefined.ts';
import { asString } from '../bytes/json.ts';
import type { GenerationRequest, Tool, ToolChoice } from '../generation.ts';
import { extraFieldsFor, extrasIfAny } from '../ledger/extras.ts';
import { functionFor } from '../tools/custom.ts';
import { fittingToolName } from '../tools/names.ts';
import { NAME } from './name.ts';
import { MAX_TOOLS, type ResponsesRequest, type WireTool, type WireToolChoice } from './wire.ts';

const NO_ARGUMENTS = { type: 'object', properties: {} };

/** A tool as the caller names it. */
type CallerName = { name: string; namespace?: string | undefined; isCustom?: boolean };

/** The one name under which other protocols know a tool. */
export const flatName = ({ name, namespace }: CallerName): string =>
  namespace === undefined ? name : fittingToolName(`${namespace}__${name}`);

/** Arguments of the function that represents a custom tool. */
export const wrapInput = (input: string): string => JSON.stringify({ input });

type FunctionTool = Extract<WireTool, { type: 'function' }>;
type CustomTool = Extract<WireTool, { type: 'custom' }>;
type NamespaceTool = Extract<WireTool, { type: 'namespace' }>;

/** The name and the kind, where they differ from a plain function's, and the members that no target gets. */
const keep = (named: CallerName, tool: FunctionTool | CustomTool): Pick<Tool, 'extras'> => {
  const { allowed_callers, async, output_schema } = tool;
  const isPlain = named.namespace === undefined && !named.isCustom;
  return extrasIfAny(NAME, { ...(!isPlain && named), allowed_callers, async, output_schema });
};

const decodeFunction = (tool: FunctionTool, namespace: string | undefined): Tool => {
  const { name, description, parameters = NO_ARGUMENTS, strict } = tool;
  const named = { name, namespace };
  return {
    name: flatName(named),
    ...omitUndefined({ description, strict: strict || undefined }),
    parameters: { ...parameters },
    ...keep(named, tool),
  };
};

const decodeCustom = (tool: CustomTool, namespace: string | undefined): Tool => {
  const named = { name: tool.name, namespace, isCustom: true };
  return {
    name: flatName(named),
    ...functionFor(tool),
    ...keep(named, tool),
  };
};

/** The tools of a namespace, without its description. */
const decodeNamespace = ({ name, description, tools }: NamespaceTool) => {
  const found = decodeTools(tools, name);
  const named = description ? ['namespace.description'] : [];
  return { ...found, dropped: [...named, ...found.dropped] };
};

/** The tools, those of namespaces among them, and the names of what is dropped, hosted tools by their type. */
export const decodeTools = (
  tools: WireTool[],
  namespace?: string,
): { tools: Tool[]; dropped: string[] } => {
  const found = tools.map((tool) => {
    switch (tool.type) {
      case 'function':
        return { tools: [decodeFunction(tool, namespace)], dropped: [] };
      case 'custom':
        return { tools: [decodeCustom(tool, namespace)], dropped: [] };
      case 'namespace':
        return decodeNamespace(tool);
      default:
        return { tools: [], dropped: [tool.value.type] };
    }
  });
  return {
    tools: found.flatMap((part) => part.tools),
    dropped: found.flatMap((part) => part.dropped),
  };
};

/**
 * The tools of the request and those that its items add; of two with one name the first counts.
 * @throws ApiError 400 above the limit, which also counts the tools within namespaces
 */
export const joinTools = (tools: Tool[], added: Tool[]): Tool[] => {
  const names = new Set(tools.map(({ name }) => name));
  const fresh = added.filter(({ name }) => !names.has(name) && names.add(name));
  const all = [...tools, ...fresh];
  if (all.length <= MAX_TOOLS) return all;
  throw invalidRequest(`tools: must be at most ${MAX_TOOLS}, those of namespaces included.`, {
    param: 'tools',
  });
};

const decodeChoice = (choice: WireToolChoice): ToolChoice => {
  if (typeof choice === 'string') return { type: choice };
  if (choice.type !== 'allowed_tools') return { type: 'tool', name: flatName(choice) };
  const named = choice.tools.flatMap(({ name, namespace }) =>
    name === undefined ? [] : [{ name, namespace }],
  );
  return { type: choice.mode, only: named.map(flatName) };
};

/** @throws ApiError 400 for a choice that leaves only hosted tools, which no model here can call. */
export const decodeToolChoice = (
  choice: ResponsesRequest['tool_choice'],
): ToolChoice | undefined => {
  const decoded = choice && decodeChoice(choice);
  if (decoded && 'only' in decoded && decoded.only?.length === 0) {
    throw invalidRequest('tool_choice.tools: must name a function or custom tool.', {
      param: 'tool_choice.tools',
    });
  }
  return decoded;
};

/** The caller's name of a tool that a response calls, and whether it is a custom tool. */
export const callerNameOf = (
  { tools = [] }: GenerationRequest,
  name: string,
): { name: string; namespace?: string; isCustom: boolean } => {
  const tool = tools.find((one) => !('native' in one) && one.name === name);
  const kept = extraFieldsFor(NAME, tool && 'extras' in tool ? tool.extras : undefined);
  return {
    name: asString(kept.name) ?? name,
    ...omitUndefined({ namespace: asString(kept.namespace) }),
    isCustom: kept.isCustom === true,
  };
};
