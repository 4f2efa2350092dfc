import { invalidRequest } from '../../support/errors.ts';
import { omitUndefined } from '../../support/objects.ts';
import { asString } from '../bytes/json.ts';
import type { GenerationRequest, Tool, ToolChoice } from '../generation.ts';
import { extraFieldsFor, extrasIfAny } from '../ledger/extras.ts';
import { customTool } from '../tools/custom.ts';
import { fittingToolName } from '../tools/names.ts';
import { NO_ARGUMENTS } from '../tools/schemas.ts';
import { CLIENT_TOOL_NAMES, clientItem, clientTool } from './client-tools.ts';
import { MAX_TOOLS, type ResponsesRequest, type WireTool, type WireToolChoice } from './wire.ts';

/** A tool as the caller names it. */
type CallerName = { name: string; namespace?: string | undefined };

/** The one name under which other protocols know a tool. */
export const flatName = ({ name, namespace }: CallerName): string =>
  namespace === undefined ? name : fittingToolName(`${namespace}__${name}`);

type FunctionTool = Extract<WireTool, { type: 'function' }>;
type CustomTool = Extract<WireTool, { type: 'custom' }>;

/** The name, where a target knows another one. */
const keep = (named: CallerName): Pick<Tool, 'extras'> =>
  named.namespace === undefined ? {} : extrasIfAny('responses', named);

const decodeFunction = (tool: FunctionTool, namespace: string | undefined): Tool => {
  const { name, description, parameters = NO_ARGUMENTS, strict } = tool;
  const named = { name, namespace };
  return {
    name: flatName(named),
    ...omitUndefined({ description, strict: strict || undefined }),
    parameters: { ...parameters },
    ...keep(named),
  };
};

const decodeCustom = (tool: CustomTool, namespace: string | undefined): Tool => {
  const { name, description, format } = tool;
  const { syntax, definition } = format ?? {};
  const grammar = definition === undefined ? undefined : omitUndefined({ syntax, definition });
  const named = { name, namespace };
  return { name: flatName(named), ...customTool({ description, grammar }), ...keep(named) };
};

/** The tools, those of namespaces among them, without those that the vendor runs. */
export const decodeTools = (tools: WireTool[], namespace?: string): Tool[] =>
  tools.flatMap((tool) => {
    switch (tool.type) {
      case 'function':
        return [decodeFunction(tool, namespace)];
      case 'custom':
        return [decodeCustom(tool, namespace)];
      case 'namespace':
        return decodeTools(tool.tools, tool.name);
      default: {
        const own = clientTool(tool.value);
        return own ? [{ ...own, ...extrasIfAny('responses', { isClientTool: true }) }] : [];
      }
    }
  });

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

type NamedChoice = Extract<WireToolChoice, { name: string }>;
const isNamed = (choice: object): choice is NamedChoice => 'name' in choice;

const decodeChoice = (choice: WireToolChoice): ToolChoice => {
  if (typeof choice === 'string') return { type: choice };
  if (choice.type !== 'allowed_tools') {
    return { type: 'tool', name: isNamed(choice) ? flatName(choice) : choice.type };
  }
  const only = choice.tools.flatMap(({ type, name, namespace }) => {
    if (name !== undefined) return [flatName({ name, namespace })];
    return CLIENT_TOOL_NAMES.some((own) => own === type) ? [type] : [];
  });
  // Hosted tools are dropped, and named.
  return choice.mode === 'auto' && only.length === 0
    ? { type: 'none' }
    : { type: choice.mode, only };
};

/** @throws ApiError 400 for a choice that leaves only hosted tools, which no model here can call. */
export const decodeToolChoice = (choice: ResponsesRequest['tool_choice']) => {
  const decoded = choice && decodeChoice(choice);
  if (decoded && 'only' in decoded && decoded.only?.length === 0) {
    throw invalidRequest('tool_choice.tools: must name a function or custom tool.', {
      param: 'tool_choice.tools',
    });
  }
  return decoded;
};

export const callerNameOf = (
  { tools = [] }: GenerationRequest,
  name: string,
): { name: string; namespace?: string } => {
  const tool = tools.find((one) => !('native' in one) && one.name === name);
  const kept = extraFieldsFor('responses', tool && 'extras' in tool ? tool.extras : undefined);
  return {
    name: asString(kept.name) ?? name,
    ...omitUndefined({ namespace: asString(kept.namespace) }),
  };
};

/** The item of a call of a tool that the caller's machine runs; undefined for any other call. */
export const clientItemOf = ({ tools = [] }: GenerationRequest, name: string, text: string) =>
  isClientCall({ tools }, name) ? clientItem(name, text) : undefined;

export const isClientCall = ({ tools = [] }: Pick<GenerationRequest, 'tools'>, name: string) =>
  tools.some(
    (tool) =>
      !('native' in tool) &&
      tool.name === name &&
      extraFieldsFor('responses', tool.extras).isClientTool === true,
  );
