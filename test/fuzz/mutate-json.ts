import { fc } from '../support/seeds.ts';

/** One change to a JSON value that leaves it JSON. `at` and `from` pick a node among all of them. */
export type JsonMutation = { at: number } & (
  | { op: 'replace'; value: unknown }
  | { op: 'borrow'; from: number }
  | { op: 'drop' }
  | { op: 'twice' }
  | { op: 'rename'; name: string }
  | { op: 'wrap'; times: number }
  | { op: 'grow'; times: number }
);

/** Words of both wires, so that a changed value is often one that means something else. */
const WORDS = [
  ...['user', 'assistant', 'system', 'tool', 'developer', 'function', 'text', 'image', 'image_url'],
  ...[
    'tool_use',
    'tool_result',
    'thinking',
    'redacted_thinking',
    'document',
    'input_audio',
    'file',
  ],
  ...['auto', 'any', 'none', 'required', 'json_schema', 'json_object', 'enabled', 'disabled'],
  ...['adaptive', 'high', 'none', 'url', 'base64', 'ephemeral', 'object', 'call_1', 'toolu_1', 'f'],
  ...['data:image/png;base64,iVBORw0KGgo=', 'https://example.com/a.png', 'image/png', '{"a":1}'],
  ...['', ' ', '\u0000', '\ud83d\ude00', 'x'.repeat(70), '-1', 'mrs1.eeeeeeeeeeee.abc', '{'],
];

const NAMES = [
  ...['role', 'content', 'type', 'text', 'id', 'name', 'input', 'tool_calls', 'tool_call_id'],
  ...['tools', 'tool_choice', 'function', 'parameters', 'input_schema', 'stop', 'stop_sequences'],
  ...['system', 'messages', 'max_tokens', 'max_completion_tokens', 'temperature', 'top_p', 'top_k'],
  ...['stream', 'stream_options', 'response_format', 'reasoning_effort', 'thinking', 'metadata'],
  ...['source', 'image_url', 'cache_control', 'n', 'user', 'output_config', 'parallel_tool_calls'],
  ...['__proto__', 'constructor', 'toString', '', 'delta', 'index', 'finish_reason', 'usage'],
];

const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...WORDS) },
  { weight: 2, arbitrary: fc.constantFrom(null, true, false, 0, -1, 1, 0.5, 3, 1e308, 2 ** 53) },
  { weight: 2, arbitrary: fc.constantFrom<unknown>([], {}, [[]], [null], [{}], { type: 'text' }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
);

const at = fc.nat(9_999);
const op = <const T extends string>(name: T) => fc.constant(name);

export const jsonMutation: fc.Arbitrary<JsonMutation> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ op: op('replace'), at, value: oddValue }) },
  { weight: 3, arbitrary: fc.record({ op: op('borrow'), at, from: at }) },
  { weight: 2, arbitrary: fc.record({ op: op('drop'), at }) },
  { weight: 2, arbitrary: fc.record({ op: op('twice'), at }) },
  { weight: 2, arbitrary: fc.record({ op: op('rename'), at, name: fc.constantFrom(...NAMES) }) },
  {
    weight: 1,
    arbitrary: fc.record({ op: op('wrap'), at, times: fc.oneof(fc.nat(2), fc.nat(70)) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ op: op('grow'), at, times: fc.oneof(fc.nat(9), fc.nat(2_000)) }),
  },
);

type Holder = Record<string | number, unknown>;
type Node = { holder: Holder; key: string | number };

const isHolder = (value: unknown): value is Holder => typeof value === 'object' && value !== null;

const MAX_NODES = 20_000;

const collectNodes = (holder: Holder, nodes: Node[]) => {
  for (const key of Array.isArray(holder) ? holder.keys() : Object.keys(holder)) {
    if (nodes.length >= MAX_NODES) return;
    nodes.push({ holder, key });
    const value = holder[key];
    if (isHolder(value)) collectNodes(value, nodes);
  }
};

const wrapped = (value: unknown, times: number): unknown => {
  let outer = value;
  for (let i = 0; i < times; i += 1) outer = [outer];
  return outer;
};

/** Ten times the length is a lot for a request of a hundred turns, and little for a word. */
const MAX_GROWN = 100_000;

const grown = (value: unknown, times: number): unknown => {
  if (typeof value === 'string')
    return value.repeat(Math.min(times, MAX_GROWN / (value.length + 1)));
  if (!Array.isArray(value)) return value;
  const size = JSON.stringify(value).length;
  // Copies: a later change to one of them is not to grow each.
  const copies = Array.from({ length: Math.min(times, MAX_GROWN / size) }, () => value).flat();
  return copies.map((item) => structuredClone(item));
};

/** JSON.parse makes an own property of `__proto__`; an assignment would not. */
const put = (holder: Holder, key: string | number, value: unknown) => {
  Object.defineProperty(holder, key, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
};

const remove = ({ holder, key }: Node) => {
  if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else delete holder[key];
};

const apply = (root: Holder, mutation: JsonMutation) => {
  const nodes: Node[] = [];
  collectNodes(root, nodes);
  const node = nodes[mutation.at % nodes.length];
  if (!node) return;
  const { holder, key } = node;
  const value = holder[key];
  switch (mutation.op) {
    case 'replace':
      // A later change must not reach back into what the next input is made of.
      return put(holder, key, structuredClone(mutation.value));
    case 'borrow': {
      const other = nodes[mutation.from % nodes.length];
      return other && put(holder, key, structuredClone(other.holder[other.key]));
    }
    case 'drop':
      return remove(node);
    case 'twice':
      return Array.isArray(holder) && holder.splice(Number(key), 0, structuredClone(value));
    case 'rename':
      remove(node);
      return put(holder, Array.isArray(holder) ? holder.length : mutation.name, value);
    case 'wrap':
      return put(holder, key, wrapped(value, mutation.times));
    case 'grow':
      return put(holder, key, grown(value, mutation.times));
    default:
      return mutation satisfies never;
  }
};

/** The JSON text after the changes; a text that is no JSON object or list comes back as it is. */
export const mutateJson = (text: string, mutations: JsonMutation[]): string => {
  if (mutations.length === 0) return text;
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch {
    return text;
  }
  if (!isHolder(root)) return text;
  for (const mutation of mutations) apply(root, mutation);
  return JSON.stringify(root);
};
