import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { listen } from '../../local/loopback.ts';
import { chatWire, messagesWire } from '../support/translate.ts';

/** In nanos: what the provider takes for a token, by the kinds of its list. */
const LIST = { input: 5_000, write: 6_250, read: 500, output: 25_000, audio: 100_000 };

/** The same as the catalog states it, in dollars a million tokens. */
export const PRICES = {
  currency: 'USD' as const,
  versions: [{ from: '2026-01-01', input: 5, cache_read: 0.5, cache_write_5m: 6.25, output: 25 }],
};

/** One request as the provider bills it: every token that it generated, also those that no client read. */
export type Invoice = { model: string; nanos: number; output: number; isOver: boolean };

export const BREAKING = 'claude-breaking';

/** How a provider answers a prompt, from the words `input=` and so on in its last turn. */
type Order = {
  /** Tokens of output that it generates if it is not stopped. */
  output: number;
  /** Shares of the prompt that it reads from its cache, and writes to it. */
  read: number;
  write: number;
  /** Milliseconds before each event, and tokens in it. */
  pace: number;
  chunk: number;
  /** The model `BREAKING` breaks off after so many tokens. */
  breaks: number;
  /** Closes a connection that has carried a request before, without a byte, once it has read and billed this one. */
  closes: boolean;
  /** It counts so many tokens of input for one. */
  counts: number;
  /** Calls a tool, whose arguments are as many tokens. */
  tool: number;
  /** It speaks: each token of output is 50 ms of raw audio. Chat only. */
  speaks: boolean;
};

const orderIn = (text: string): Order => {
  const number = (name: string, usual: number) =>
    Number(new RegExp(`\\b${name}=([\\d.]+)`).exec(text)?.[1] ?? usual);
  return {
    output: number('output', 10),
    read: number('read', 0),
    write: number('write', 0),
    pace: number('pace', 0),
    chunk: number('chunk', 10),
    breaks: number('breaks', Number.POSITIVE_INFINITY),
    closes: number('closes', 0) > 0,
    counts: number('counts', 1),
    tool: number('tool', 0),
    speaks: number('speaks', 0) > 0,
  };
};

type Event = Parameters<typeof messagesWire>[0][number];
type Body = { model: string; max_tokens?: number; max_completion_tokens?: number };

/** As long as the router takes a token of a longer text to be. */
const WORD = 'of ';
const finishOf = (isCut: boolean, isTool: boolean, words: [string, string, string]) =>
  isCut ? words[0] : isTool ? words[1] : words[2];

/** 24,000 samples a second, of two bytes each, in base64. */
const SPOKEN = 'A'.repeat(3_200);

const chatParts = (isTool: boolean) => ({
  spoken: (tokens: number) => {
    const delta = { audio: { data: SPOKEN.repeat(tokens) } };
    return chatWire([{ choices: [{ index: 0, delta, finish_reason: null }] }], '');
  },
  token: (text: string, isFirst: boolean) => {
    const call = { index: 0, function: { arguments: text } };
    const opened = {
      ...call,
      id: 'call_1',
      type: 'function',
      function: { name: 'run', arguments: text },
    };
    const delta = isTool ? { tool_calls: [isFirst ? opened : call] } : { content: text };
    return chatWire([{ choices: [{ index: 0, delta, finish_reason: null }] }], '');
  },
  end: (isCut: boolean, input: number, order: Order, output: number) =>
    chatWire([
      {
        choices: [
          {
            index: 0,
            delta: {},
            finish_reason: finishOf(isCut, isTool, ['length', 'tool_calls', 'stop']),
          },
        ],
        usage: {
          prompt_tokens: input,
          completion_tokens: output,
          prompt_tokens_details: { cached_tokens: Math.floor(input * order.read) },
          ...(order.speaks && { completion_tokens_details: { audio_tokens: output } }),
        },
      },
    ]),
});

const messagesParts = (isTool: boolean) => {
  const block = isTool
    ? { type: 'tool_use', id: 'toolu_1', name: 'run', input: {} }
    : { type: 'text', text: '' };
  const usageOf = (input: number, { read, write }: Order) => {
    const [reads, writes] = [Math.floor(input * read), Math.floor(input * write)];
    return {
      input_tokens: input - reads - writes,
      cache_read_input_tokens: reads,
      cache_creation_input_tokens: writes,
    };
  };
  return {
    begin: (input: number, order: Order) =>
      messagesWire([
        {
          type: 'message_start',
          message: { type: 'message', usage: { ...usageOf(input, order), output_tokens: 1 } },
        },
        { type: 'content_block_start', index: 0, content_block: block },
      ] as Event[]),
    token: (text: string) => {
      const delta = isTool
        ? { type: 'input_json_delta', partial_json: text }
        : { type: 'text_delta', text };
      return messagesWire([{ type: 'content_block_delta', index: 0, delta }] as Event[]);
    },
    end: (isCut: boolean, output: number) =>
      messagesWire([
        { type: 'content_block_stop', index: 0 },
        {
          type: 'message_delta',
          delta: { stop_reason: finishOf(isCut, isTool, ['max_tokens', 'tool_use', 'end_turn']) },
          usage: { output_tokens: output },
        },
        { type: 'message_stop' },
      ] as Event[]),
  };
};

/** Tokens by the provider's own count: a word, or a sign. */
const tokensOf = (text: string): number => {
  let count = 0;
  const token = /\w+|[^\w\s]/g;
  while (token.test(text)) count += 1;
  return count;
};

/** The texts of a prompt, without the names of its JSON. */
const textsIn = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
};

type Asked = { model: string; order: Order; input: number; most: number };

const readAsked = (body: string): Asked => {
  const { model, max_tokens, max_completion_tokens, ...rest }: Body & Record<string, unknown> =
    JSON.parse(body);
  const text = textsIn(rest.messages).join(' ');
  const ordered = orderIn(text.slice(-300));
  const order = model === BREAKING ? ordered : { ...ordered, breaks: Number.POSITIVE_INFINITY };
  const wanted = order.tool > 0 ? order.tool : order.output;
  const input = order.counts * (tokensOf(text) + tokensOf(textsIn(rest.system).join(' ')) + 8);
  return {
    model,
    order,
    input,
    most: Math.min(wanted, max_tokens ?? max_completion_tokens ?? wanted),
  };
};

/** Chat states no writes, and bills them as input. */
const inputCost = ({ input, order: { read, write } }: Asked, isMessages: boolean): number => {
  const [reads, writes] = [Math.floor(input * read), isMessages ? Math.floor(input * write) : 0];
  return (input - reads - writes) * LIST.input + reads * LIST.read + writes * LIST.write;
};

/** Arguments of a tool call are one JSON object. */
const wordsAt = (n: number, { most, order: { chunk, tool } }: Asked): string => {
  const words = WORD.repeat(Math.min(chunk, most - n));
  if (tool === 0) return words;
  return `${n === 0 ? '{"text":"' : ''}${words}${n + chunk >= most ? '"}' : ''}`;
};

/** Sends tokens until all are sent, or the client is gone. */
const generate = async (
  response: ServerResponse,
  asked: Asked,
  { isMessages, bill }: { isMessages: boolean; bill: (tokens: number) => void },
): Promise<void> => {
  const { order, input, most } = asked;
  const isTool = order.tool > 0;
  const { chunk } = order;
  const [chat, messages] = [chatParts(isTool), messagesParts(isTool)];
  let isGone = false;
  response.once('close', () => {
    isGone = true;
  });
  if (isMessages) response.write(messages.begin(input, order));
  for (let n = 0; n < most && !isGone; n += chunk) {
    if (n >= order.breaks) {
      // It has stated one when it began.
      bill(Math.max(0, Number(isMessages) - n));
      await setTimeout(20);
      response.destroy();
      return;
    }
    const words = wordsAt(n, asked);
    const said = order.speaks ? chat.spoken(Math.min(chunk, most - n)) : chat.token(words, n === 0);
    response.write(isMessages ? messages.token(words) : said);
    bill(Math.min(chunk, most - n));
    await (order.pace > 0 ? setTimeout(order.pace) : new Promise(setImmediate));
  }
  const isCut = most < (isTool ? order.tool : order.output);
  if (!isGone)
    response.end(isMessages ? messages.end(isCut, most) : chat.end(isCut, input, order, most));
};

/** A provider of both protocols that keeps its own invoices by its list. */
export const startMeteredProvider = async () => {
  const invoices: Invoice[] = [];
  let billed = 0;
  const used = new WeakSet<Socket>();

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const isMessages = request.url?.includes('/messages') === true;
    const asked = readAsked((await buffer(request)).toString());
    const invoice = {
      model: asked.model,
      nanos: inputCost(asked, isMessages),
      output: 0,
      isOver: false,
    };
    invoices.push(invoice);
    billed += invoice.nanos;
    const bill = (tokens: number) => {
      invoice.output += tokens;
      const nanos = tokens * (asked.order.speaks ? LIST.audio : LIST.output);
      invoice.nanos += nanos;
      billed += nanos;
    };
    const isReused = used.has(request.socket);
    used.add(request.socket);
    if (asked.order.closes && isReused) {
      invoice.isOver = true;
      request.socket.destroy();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    await generate(response, asked, { isMessages, bill });
    invoice.isOver = true;
  };

  const server = createServer((request, response) => void answer(request, response));
  const { url, close } = await listen(server);
  return {
    url,
    invoices,
    billed: () => billed,
    close,
  };
};
