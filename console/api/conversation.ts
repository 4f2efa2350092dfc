/** A conversation as the playground keeps it, and as each API takes it. */
export type Tool = { name: string; description?: string; parameters?: object };
export type Call = { id: string; name: string; arguments: string };
export type Turn =
  | { role: 'user'; text: string; images: string[] }
  | { role: 'assistant'; text: string; calls: Call[] }
  | { role: 'results'; text: string; calls: Call[] };

export type Asked = {
  model: string;
  system: string;
  turns: Turn[];
  tools: Tool[];
  temperature: number | undefined;
  maxTokens: number;
};

/** A part of a streamed response: more of the text, or of the call with this index. */
export type Piece =
  | { text: string }
  | { index: number; id?: string | undefined; name?: string | undefined; arguments: string };

type Family = {
  path: string;
  /** The members of a request that each API has in its form. */
  bodyOf: (asked: Asked) => object;
  /** What an event adds; empty for one that has nothing to show. */
  piecesOf: (event: never) => Piece[];
};

const inputOf = ({ arguments: text }: Call): unknown => (text === '' ? {} : JSON.parse(text));

/** Undefined for none: JSON has no such member. */
const some = <Item>(items: Item[]): Item[] | undefined => (items.length > 0 ? items : undefined);

const schemaOf = ({ parameters = { type: 'object', properties: {} } }: Tool): object => parameters;

// --- chat completions ---

type ChatCall = { index: number; id?: string; function?: { name?: string; arguments?: string } };
type ChatEvent = { choices?: { delta?: { content?: string | null; tool_calls?: ChatCall[] } }[] };

const chatMessages = (turn: Turn): object[] => {
  if (turn.role === 'results') {
    return turn.calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: turn.text }));
  }
  if (turn.role === 'user') {
    const images = turn.images.map((url) => ({ type: 'image_url', image_url: { url } }));
    const content =
      images.length === 0 ? turn.text : [{ type: 'text', text: turn.text }, ...images];
    return [{ role: 'user', content }];
  }
  const calls = turn.calls.map(({ id, name, arguments: text }) => ({
    ...{ id, type: 'function', function: { name, arguments: text } },
  }));
  return [{ role: 'assistant', content: turn.text, tool_calls: some(calls) }];
};

const chat = {
  path: 'chat/completions',
  bodyOf: ({ system, turns, tools, maxTokens }: Asked) => ({
    messages: [
      ...(system === '' ? [] : [{ role: 'system', content: system }]),
      ...turns.flatMap(chatMessages),
    ],
    tools: some(
      tools.map((tool) => ({
        ...{ type: 'function', function: { ...tool, parameters: schemaOf(tool) } },
      })),
    ),
    max_tokens: maxTokens,
  }),
  piecesOf: ({ choices = [] }: ChatEvent): Piece[] => {
    const { content, tool_calls: calls = [] } = choices[0]?.delta ?? {};
    return [
      ...(content ? [{ text: content }] : []),
      ...calls.map(({ index, id, function: called }) => ({
        ...{ index, id, name: called?.name, arguments: called?.arguments ?? '' },
      })),
    ];
  },
};

// --- messages ---

type MessagesEvent = {
  index?: number;
  content_block?: { type: string; id?: string; name?: string };
  delta?: { text?: string; partial_json?: string };
};

const imageBlock = (url: string): object => {
  const [, type = '', data = ''] = /^data:([^;]+);base64,(.*)$/s.exec(url) ?? [];
  return { type: 'image', source: { type: 'base64', media_type: type, data } };
};

const messagesTurn = (turn: Turn): object => {
  if (turn.role === 'results') {
    const results = turn.calls.map(({ id }) => ({
      ...{ type: 'tool_result', tool_use_id: id, content: turn.text },
    }));
    return { role: 'user', content: results };
  }
  const text = turn.text === '' ? [] : [{ type: 'text', text: turn.text }];
  if (turn.role === 'user')
    return { role: 'user', content: [...turn.images.map(imageBlock), ...text] };
  const calls = turn.calls.map((call) => ({
    ...{ type: 'tool_use', id: call.id, name: call.name, input: inputOf(call) },
  }));
  return { role: 'assistant', content: [...text, ...calls] };
};

const messages = {
  path: 'messages',
  bodyOf: ({ system, turns, tools, maxTokens }: Asked) => ({
    system: system || undefined,
    messages: turns.map(messagesTurn),
    tools: some(
      tools.map(({ name, description, ...tool }) => ({
        ...{ name, description, input_schema: schemaOf({ name, ...tool }) },
      })),
    ),
    max_tokens: maxTokens,
  }),
  piecesOf: ({ index = 0, content_block: block, delta }: MessagesEvent): Piece[] => {
    if (block?.type === 'tool_use') {
      return [{ index, id: block.id, name: block.name, arguments: '' }];
    }
    if (delta?.text) return [{ text: delta.text }];
    return delta?.partial_json ? [{ index, arguments: delta.partial_json }] : [];
  },
};

// --- responses ---

type ResponsesEvent = {
  type?: string;
  output_index?: number;
  delta?: string;
  item?: { type: string; call_id?: string; name?: string };
};

const responsesItems = (turn: Turn): object[] => {
  if (turn.role === 'results') {
    return turn.calls.map(({ id }) => ({
      ...{ type: 'function_call_output', call_id: id, output: turn.text },
    }));
  }
  if (turn.role === 'user') {
    const images = turn.images.map((url) => ({ type: 'input_image', image_url: url }));
    return [{ role: 'user', content: [{ type: 'input_text', text: turn.text }, ...images] }];
  }
  const text = turn.text === '' ? [] : [{ role: 'assistant', content: turn.text }];
  const calls = turn.calls.map(({ id, name, arguments: text }) => ({
    ...{ type: 'function_call', call_id: id, name, arguments: text },
  }));
  return [...text, ...calls];
};

const responses = {
  path: 'responses',
  bodyOf: ({ system, turns, tools, maxTokens }: Asked) => ({
    instructions: system || undefined,
    input: turns.flatMap(responsesItems),
    tools: some(tools.map((tool) => ({ type: 'function', ...tool, parameters: schemaOf(tool) }))),
    max_output_tokens: maxTokens,
    store: false,
  }),
  piecesOf: ({ type, output_index: index = 0, delta = '', item }: ResponsesEvent): Piece[] => {
    if (type === 'response.output_text.delta') return [{ text: delta }];
    if (type === 'response.function_call_arguments.delta') return [{ index, arguments: delta }];
    if (type !== 'response.output_item.added' || item?.type !== 'function_call') return [];
    return [{ index, id: item.call_id, name: item.name, arguments: '' }];
  },
};

export const CALLER_APIS = { chat, messages, responses } as const satisfies Record<string, Family>;
export type CallerApi = keyof typeof CALLER_APIS;

/** The response so far, with one more part. */
export const withPiece = (
  { text, calls }: { text: string; calls: (Call & { index: number })[] },
  piece: Piece,
) => {
  if ('text' in piece) return { text: text + piece.text, calls };
  const { index, id = '', name = '', arguments: more } = piece;
  if (!calls.some((call) => call.index === index)) {
    return { text, calls: [...calls, { index, id, name, arguments: more }] };
  }
  const longer = calls.map((call) =>
    call.index === index ? { ...call, arguments: call.arguments + more } : call,
  );
  return { text, calls: longer };
};
