import { omitUndefined } from '../../support/objects.ts';
import { asArray, asNumber, asRecord, asString, type Json, readJsonObject } from '../bytes/json.ts';
import type { Tool, ToolResultBlock } from '../generation.ts';

/**
 * A tool that the caller's machine runs and that the vendor's models know by its type. Other models get a function of that name,
 * and the caller gets its calls as items of the tool's own kind.
 */
type ClientTool = Pick<Tool, 'description' | 'parameters'> & {
  prefix: string;
  /** The function's arguments, of the item of a call. */
  argumentsOf(item: Json): unknown;
  /** The inverse: the members of the item; undefined if the arguments lack what the tool requires. */
  membersOf(called: Json): Json | undefined;
  resultOf(item: Json): { text: string; isError?: boolean };
};

const TEXT = { type: 'string' };
const TEXTS = { type: 'array', items: TEXT };
const COUNT = { type: 'integer' };

const objectOf = (properties: Json, required: string[]): Tool['parameters'] => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

/** A list of at least one text, and of nothing else. */
const textsIn = (value: unknown): string[] | undefined => {
  const texts = asArray(value).flatMap((one) => asString(one) ?? []);
  return texts.length > 0 && texts.length === asArray(value).length ? texts : undefined;
};

const OPERATIONS = ['create_file', 'update_file', 'delete_file'];

const APPLY_PATCH: ClientTool = {
  prefix: 'apc',
  description: [
    'Creates, updates or deletes one file. `diff` is needed unless the file is deleted. To create a file, it has every line of',
    'the file with `+` before it. To update one, it has hunks without line numbers and without names of files: each begins with',
    'a line `@@`, which may name the enclosing function, and has lines that begin with a space (kept), `-` (removed) or `+` (added).',
  ].join(' '),
  parameters: objectOf({ type: { type: 'string', enum: OPERATIONS }, path: TEXT, diff: TEXT }, [
    'type',
    'path',
  ]),
  argumentsOf: ({ operation }) => operation,
  membersOf: ({ type, path, diff }) => {
    const isDeletion = type === 'delete_file';
    const isKnown = OPERATIONS.includes(asString(type) ?? '') && asString(path) !== undefined;
    if (!isKnown || (!isDeletion && asString(diff) === undefined)) return undefined;
    return { operation: isDeletion ? { type, path } : { type, path, diff } };
  },
  resultOf: ({ output, status }) => ({
    text: asString(output) ?? asString(status) ?? '',
    isError: status === 'failed',
  }),
};

const SHELL: ClientTool = {
  prefix: 'shc',
  description: 'Runs shell commands on the machine of the user, and returns their output.',
  parameters: objectOf({ commands: TEXTS, timeout_ms: COUNT, max_output_length: COUNT }, [
    'commands',
  ]),
  argumentsOf: ({ action }) => action,
  membersOf: ({ commands: wanted, timeout_ms, max_output_length }) => {
    const commands = textsIn(wanted);
    const limits = {
      timeout_ms: asNumber(timeout_ms) ?? null,
      max_output_length: asNumber(max_output_length) ?? null,
    };
    return commands && { action: { commands, ...limits }, environment: { type: 'local' } };
  },
  // Of each command: what it wrote, and how it ended.
  resultOf: ({ output }) => ({ text: JSON.stringify(output ?? []) }),
};

const LOCAL_SHELL: ClientTool = {
  prefix: 'lsc',
  description: 'Runs a command on the machine of the user, and returns its output.',
  parameters: objectOf(
    {
      ...{ command: TEXTS, working_directory: TEXT, timeout_ms: COUNT, user: TEXT },
      env: { type: 'object', additionalProperties: TEXT },
    },
    ['command'],
  ),
  argumentsOf: ({ action }) => {
    const { type: _, ...called } = asRecord(action) ?? {};
    return called;
  },
  membersOf: ({ command: wanted, env, timeout_ms, user, working_directory }) => {
    const command = textsIn(wanted);
    const rest = omitUndefined({
      timeout_ms: asNumber(timeout_ms),
      user: asString(user),
      working_directory: asString(working_directory),
    });
    return command && { action: { type: 'exec', command, env: asRecord(env) ?? {}, ...rest } };
  },
  resultOf: ({ output }) => ({ text: asString(output) ?? '' }),
};

/** By their type, which is their name too; their items are `<type>_call` and `<type>_call_output`. */
const CLIENT_TOOLS = { apply_patch: APPLY_PATCH, shell: SHELL, local_shell: LOCAL_SHELL };

export type ClientToolName = keyof typeof CLIENT_TOOLS;
export const CLIENT_TOOL_NAMES = Object.keys(CLIENT_TOOLS) as ClientToolName[];

const isClientTool = (name: string): name is ClientToolName => name in CLIENT_TOOLS;

/** The function for a tool; undefined if the vendor runs it, as it does a shell in one of its containers. */
export const clientTool = ({
  type,
  environment,
}: Json): (Tool & { name: ClientToolName }) | undefined => {
  const name = asString(type) ?? '';
  const place = asRecord(environment)?.type ?? 'local';
  if (!isClientTool(name) || place !== 'local') return undefined;
  const { description, parameters } = CLIENT_TOOLS[name];
  return { name, ...omitUndefined({ description }), parameters };
};

type ItemType = `${ClientToolName}_call` | `${ClientToolName}_call_output`;
type ClientItem = { type: ItemType } & Json;

const nameIn = (type: ItemType) => type.replace(/_call(?:_output)?$/, '') as ClientToolName;

export const clientCallIn = (item: ClientItem): { name: string; text: string } => {
  const name = nameIn(item.type);
  return { name, text: JSON.stringify(CLIENT_TOOLS[name].argumentsOf(item)) };
};

export const clientResultIn = (item: ClientItem): Pick<ToolResultBlock, 'content' | 'isError'> => {
  const { text, isError } = CLIENT_TOOLS[nameIn(item.type)].resultOf(item);
  return { content: text === '' ? [] : [{ type: 'text', text }], ...(isError && { isError }) };
};

/** The item of a call, without its ids and its status; undefined if the arguments are not those of the tool. */
export const clientItem = (
  name: string,
  text: string,
): { prefix: string; members: Json } | undefined => {
  const called = readJsonObject(text);
  if (!isClientTool(name) || !called) return undefined;
  const { prefix, membersOf } = CLIENT_TOOLS[name];
  const members = membersOf(called);
  return members && { prefix, members: { type: `${name}_call`, ...members } };
};
