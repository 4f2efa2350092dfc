import {
  type Checker,
  each,
  flag,
  isJsonObjectText,
  isObject,
  isText,
  type Json,
  listOf,
  oneOf,
  onlyMembers,
  requireSchema,
} from './checker.ts';

/** What the chat protocol's vendor rejects in the tools of a request and in the calls of its history. */
export const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
/** "string too long. Expected a string with maximum length 40". */
const MAX_CALL_ID = 40;
const MAX_TOOLS = 128;

// --- calls ---

export const checkFunctionCall = (check: Checker, called: unknown, path: string) => {
  if (!isObject(called)) return check.reject(path, 'must be an object');
  onlyMembers(check, called, path, 'name arguments');
  check.require(NAME.test(String(called.name)), `${path}.name`, `must match ${NAME}`);
  const isJson = isText(called.arguments) && isJsonObjectText(called.arguments);
  return check.require(isJson, `${path}.arguments`, 'must be JSON of an object');
};

const checkCustomCall = (check: Checker, called: unknown, path: string) => {
  if (!isObject(called)) return check.reject(path, 'must be an object');
  onlyMembers(check, called, path, 'name input');
  check.require(NAME.test(String(called.name)), `${path}.name`, `must match ${NAME}`);
  return check.require(isText(called.input), `${path}.input`, 'must be a string');
};

export const checkCall = (check: Checker, call: unknown, path: string) => {
  if (!isObject(call)) return check.reject(path, 'must be an object');
  const isId = isText(call.id) && call.id.length >= 1 && call.id.length <= MAX_CALL_ID;
  check.require(isId, `${path}.id`, `must have 1 to ${MAX_CALL_ID} characters`);
  if (call.type === 'custom') {
    onlyMembers(check, call, path, 'id type custom');
    return checkCustomCall(check, call.custom, `${path}.custom`);
  }
  onlyMembers(check, call, path, 'id type function');
  check.require(call.type === 'function', `${path}.type`, 'must be function or custom');
  return checkFunctionCall(check, call.function, `${path}.function`);
};

// --- tools ---

const checkNamed = (check: Checker, { name, description }: Json, path: string) => {
  check.require(NAME.test(String(name)), `${path}.name`, `must match ${NAME}`);
  const isDescribed = description === undefined || isText(description);
  check.require(isDescribed, `${path}.description`, 'must be a string');
};

const checkFunction = (check: Checker, offered: unknown, path: string) => {
  if (!isObject(offered)) return check.reject(path, 'must be an object');
  onlyMembers(check, offered, path, 'name description parameters strict');
  checkNamed(check, offered, path);
  const { parameters, strict } = offered;
  if (parameters !== undefined) requireSchema(check, parameters, `${path}.parameters`);
  return flag(check, strict, `${path}.strict`);
};

const checkCustom = (check: Checker, offered: unknown, path: string) => {
  if (!isObject(offered)) return check.reject(path, 'must be an object');
  onlyMembers(check, offered, path, 'name description format');
  checkNamed(check, offered, path);
  const { format } = offered;
  if (format === undefined) return;
  if (!isObject(format)) return check.reject(`${path}.format`, 'must be an object');
  oneOf(check, format.type, `${path}.format.type`, 'text grammar');
  if (format.type !== 'grammar') return;
  const { syntax, definition } = isObject(format.grammar) ? format.grammar : {};
  oneOf(check, syntax, `${path}.format.grammar.syntax`, 'lark regex');
  check.require(isText(definition), `${path}.format.grammar.definition`, 'is required');
};

const checkTool = (check: Checker, tool: unknown, path: string) => {
  if (!isObject(tool)) return check.reject(path, 'must be an object');
  if (tool.type === 'custom') {
    onlyMembers(check, tool, path, 'type custom');
    return checkCustom(check, tool.custom, `${path}.custom`);
  }
  check.require(tool.type === 'function', `${path}.type`, 'must be function or custom');
  onlyMembers(check, tool, path, 'type function');
  return checkFunction(check, tool.function, `${path}.function`);
};

const nameOfTool = (tool: unknown): unknown => {
  if (!isObject(tool)) return undefined;
  const named = tool[String(tool.type)];
  return isObject(named) ? named.name : undefined;
};

/** The form before tools: "Only one of functions and tools may be sent". */
export const checkFunctions = (
  check: Checker,
  { functions, function_call: choice, tools }: Json,
) => {
  if (functions === undefined) {
    return check.require(choice === undefined, 'function_call', 'is only allowed with functions');
  }
  check.require(tools === undefined, 'functions', 'must not stand next to tools');
  check.require(listOf(functions).length >= 1, 'functions', 'must hold at least one');
  each(functions, 'functions', (one, path) => checkFunction(check, one, path));
  if (!isObject(choice)) return oneOf(check, choice, 'function_call', 'none auto');
  const names = listOf(functions).map((one) => (isObject(one) ? one.name : undefined));
  return check.require(names.includes(choice.name), 'function_call.name', 'must be a function');
};

export const checkTools = (check: Checker, { tools, tool_choice: choice, ...rest }: Json) => {
  if (tools === undefined) {
    check.require(choice === undefined, 'tool_choice', 'is only allowed with tools');
    const { parallel_tool_calls: parallel } = rest;
    check.require(parallel === undefined, 'parallel_tool_calls', 'is only allowed with tools');
    return;
  }
  const count = listOf(tools).length;
  check.require(count >= 1 && count <= MAX_TOOLS, 'tools', `must hold 1 to ${MAX_TOOLS} tools`);
  each(tools, 'tools', (tool, path) => checkTool(check, tool, path));
  flag(check, rest.parallel_tool_calls, 'parallel_tool_calls');
  if (!isObject(choice)) return oneOf(check, choice, 'tool_choice', 'none auto required');
  if (choice.type === 'allowed_tools') return;
  const isKnown = listOf(tools).map(nameOfTool).includes(nameOfTool(choice));
  check.require(isKnown, 'tool_choice.function.name', 'must be one of the tools');
};
