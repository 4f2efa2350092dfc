import { judgeOf } from '../type-judge.ts';
import {
  type Checker,
  createChecker,
  each,
  inRange,
  isJsonObjectText,
  isObject,
  isText,
  type Json,
  listOf,
} from './checker.ts';

/**
 * What the Responses API's vendor rejects in a request to `POST /v1/responses`: what its own SDK's types do not allow, and the
 * 400s that its reference documents; none of it comes from the codecs of this project.
 */

/** Required by the types of what a response contains, and not of what is sent back: its own clients leave them out. */
const LENIENT = ['id', 'status', 'annotations', 'detail'];
const judge = judgeOf('openai/resources/responses/responses', 'ResponseCreateParamsBase', LENIENT);

const NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const LEAST_TOKENS = 16;
const MAX_ID = 64;

/** Items by the beginning of their ids. */
const PREFIXES: Record<string, string> = {
  ...{ message: 'msg', reasoning: 'rs', function_call: 'fc', custom_tool_call: 'ctc' },
};
const CALLS: Record<string, string> = {
  ...{ function_call: 'function_call_output', custom_tool_call: 'custom_tool_call_output' },
};

/** The start of what this vendor seals; it cannot verify the reasoning of others. */
export const SEAL = 'gAAAA-strict-';

const checkMessage = (check: Checker, { role, content }: Json, path: string) => {
  const kinds = role === 'assistant' ? /^(?:output_text|refusal)$/ : /^input_/;
  each(content, `${path}.content`, (part, at) => {
    const type = isObject(part) ? String(part.type) : '';
    check.require(kinds.test(type), `${at}.type`, `'${type}' is not allowed for ${String(role)}`);
    const { file_data, filename } = isObject(part) ? part : {};
    const isNamed = file_data === undefined || isText(filename);
    check.require(isNamed, `${at}.filename`, 'is required with file_data');
  });
};

const checkReasoning = (check: Checker, item: Json, path: string, next: unknown) => {
  const isSealed = isText(item.encrypted_content) && item.encrypted_content.startsWith(SEAL);
  check.require(isSealed, `${path}.encrypted_content`, 'could not be verified');
  const { type = 'message', role = 'assistant' } = isObject(next) ? next : { type: '' };
  const isFollowed =
    type === 'message' ? role === 'assistant' : /call$|^reasoning$/.test(`${type}`);
  check.require(isFollowed, path, 'was provided without its required following item');
};

const checkCall = (check: Checker, item: Json, path: string) => {
  check.require(NAME.test(String(item.name)), `${path}.name`, `must match ${NAME}`);
  if (item.type !== 'function_call') return;
  check.require(isJsonObjectText(item.arguments), `${path}.arguments`, 'must be JSON of an object');
};

/** Each call has one output behind it, and no output is without a call. */
const checkPairs = (check: Checker, items: Json[]) => {
  const open = new Map<unknown, string>();
  const ids = new Set<unknown>();
  items.forEach(({ type, call_id: id, id: own }, index) => {
    const path = `input.${index}`;
    const output = CALLS[String(type)];
    const isOwn = own === undefined || !ids.has(own);
    check.require(isOwn, `${path}.id`, `duplicate item found with id ${String(own)}`);
    ids.add(own);
    if (output !== undefined) {
      check.require(!open.has(id), `${path}.call_id`, 'duplicate call id');
      open.set(id, output);
    }
    if (!Object.values(CALLS).includes(String(type))) return;
    check.require(open.get(id) === type, `${path}.call_id`, 'no tool call found for the output');
    open.set(id, '');
  });
  for (const [id, output] of open) {
    check.require(output === '', 'input', `no tool output found for function call ${String(id)}`);
  }
};

const checkInput = (check: Checker, input: unknown) => {
  if (isText(input)) return;
  const items = listOf(input).filter(isObject);
  check.require(items.length > 0, 'input', 'must not be empty');
  items.forEach((item, index) => {
    const path = `input.${index}`;
    const { type = 'message', id, call_id: callId } = item;
    const prefix = PREFIXES[String(type)];
    const isOwn = id === undefined || prefix === undefined || `${id}`.startsWith(prefix);
    check.require(isOwn, `${path}.id`, `expected an id that begins with '${prefix}'`);
    const isShort = callId === undefined || (callId !== '' && `${callId}`.length <= MAX_ID);
    check.require(isShort, `${path}.call_id`, `must have 1 to ${MAX_ID} characters`);
    if (type === 'message') checkMessage(check, item, path);
    if (type === 'reasoning') checkReasoning(check, item, path, items[index + 1]);
    if (String(type) in CALLS) checkCall(check, item, path);
  });
  checkPairs(check, items);
};

/** A strict schema lists every property as required, and allows no others. */
const checkStrict = (check: Checker, schema: unknown, path: string): void => {
  each(schema, path, (one, at) => checkStrict(check, one, at));
  if (!isObject(schema)) return;
  const { type, properties, required, additionalProperties } = schema;
  if (type === 'object' || properties !== undefined) {
    const names = Object.keys(isObject(properties) ? properties : {});
    const isWhole = names.every((name) => listOf(required).includes(name));
    check.require(isWhole, `${path}.required`, 'must include every property');
    const isClosed = additionalProperties === false;
    check.require(isClosed, `${path}.additionalProperties`, 'is required to be false');
  }
  for (const [name, inner] of Object.entries(isObject(properties) ? properties : {})) {
    checkStrict(check, inner, `${path}.properties.${name}`);
  }
  checkStrict(check, schema.items, `${path}.items`);
};

const checkTools = (check: Checker, { tools, tool_choice: choice }: Json) => {
  const named = listOf(tools).filter(isObject);
  const names = named.flatMap(({ name }) => (isText(name) ? [name] : []));
  check.require(new Set(names).size === names.length, 'tools', 'tool names must be unique');
  named.forEach(({ type, name, strict, parameters }, index) => {
    const path = `tools.${index}`;
    if (type !== 'function' && type !== 'custom') return;
    check.require(NAME.test(String(name)), `${path}.name`, `must match ${NAME}`);
    if (strict === true) checkStrict(check, parameters, `${path}.parameters`);
  });
  if (choice === undefined || choice === 'none' || choice === 'auto') return;
  check.require(named.length > 0, 'tool_choice', 'may only be specified with tools');
  if (!isObject(choice)) return;
  const chosen = choice.type === 'allowed_tools' ? listOf(choice.tools) : [choice];
  for (const one of chosen.filter(isObject)) {
    const isKnown = one.name === undefined || names.includes(String(one.name));
    check.require(isKnown, 'tool_choice', `tool ${String(one.name)} is not found`);
  }
};

const checkFormat = (check: Checker, text: unknown) => {
  const { format } = isObject(text) ? text : {};
  if (!isObject(format) || format.type !== 'json_schema') return;
  check.require(NAME.test(String(format.name)), 'text.format.name', `must match ${NAME}`);
  if (format.strict === true) checkStrict(check, format.schema, 'text.format.schema');
};

/** Reasons for which the vendor would answer 400; empty if it takes the request. */
export const responsesRejections = (body: unknown): string[] => {
  const check = createChecker();
  if (!isObject(body)) return ['body: must be a JSON object'];
  for (const fault of judge(body)) {
    const [path = '', reason = ''] = fault.split(': ');
    check.reject(path, reason);
  }
  check.require(isText(body.model) && body.model !== '', 'model', 'is required');
  // Without a store, what it does not seal is lost for the next turn.
  check.require(body.store === false, 'store', 'this deployment stores nothing');
  checkInput(check, body.input);
  checkTools(check, body);
  checkFormat(check, body.text);
  inRange(check, body.max_output_tokens, 'max_output_tokens', [LEAST_TOKENS, 1_000_000]);
  inRange(check, body.temperature, 'temperature', [0, 2]);
  inRange(check, body.top_p, 'top_p', [0, 1]);
  return check.rejections;
};
