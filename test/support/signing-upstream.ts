import { createHmac } from 'node:crypto';
import {
  type Answered,
  type Generated,
  type Refusal,
  startGenerationUpstream,
} from './generation-upstream.ts';
import { messagesRejections } from './strict-upstream/messages-rules.ts';
import { messagesWire } from './translate.ts';

/**
 * A Claude that thinks and calls a tool twice before it answers. As its vendor, it signs each thinking block
 * for its model and its place in the turn, and rejects one that is unsigned, altered, moved or of another
 * model, and a loop of tools that lost its thinking while `thinking` is `enabled`.
 */
type Block = { type: string; thinking?: string; text?: string; signature?: string; data?: string };
type Turn = { role: string; content: string | Block[] };
type Wire = { model: string; messages: Turn[]; thinking?: { type: string } };

const proofOf = (model: string, place: number, text: string): string =>
  createHmac('sha256', 'key of the vendor').update(`${model} ${place} ${text}`).digest('base64');

const blocksOf = ({ content }: Turn): Block[] => (typeof content === 'string' ? [] : content);

const REDACTED = 'what the vendor does not show';

const isProven = (block: Block, place: number, model: string): boolean =>
  block.type === 'redacted_thinking'
    ? block.data === proofOf(model, place, REDACTED)
    : block.signature === proofOf(model, place, block.thinking ?? '');

const isThinking = ({ type }: Block): boolean => type.endsWith('thinking');

const refuse = ({ body }: Generated): Refusal => {
  const [rejection] = messagesRejections(body);
  if (rejection !== undefined) return rejection;
  const { model, messages, thinking } = body as Wire;
  for (const [index, turn] of messages.entries()) {
    const blocks = blocksOf(turn);
    const wrong = blocks.findIndex((one, place) => isThinking(one) && !isProven(one, place, model));
    if (wrong !== -1) {
      return `messages.${index}.content.${wrong}: Invalid \`signature\` in \`thinking\` block`;
    }
    const [first] = blocks;
    if (thinking?.type === 'enabled' && turn.role === 'assistant' && first && !isThinking(first)) {
      return `messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.type}\``;
    }
  }
  return undefined;
};

const tool = (step: number): Block & Record<string, unknown> => ({
  type: 'tool_use',
  id: `toolu_${step}`,
  name: 'look',
  input: {},
});

/** The turns of the model: thinking on both sides of a text, hidden thinking, then the answer. */
const turnAt = (step: number): Block[] =>
  [
    [
      { type: 'thinking', thinking: 'First I look.' },
      { type: 'text', text: 'Looking' },
      { type: 'thinking', thinking: 'Then I wait.' },
      tool(0),
    ],
    [{ type: 'redacted_thinking' }, tool(1)],
    [{ type: 'text', text: 'Done.' }],
  ][step] ?? [];

const signed = (block: Block, place: number, model: string): Block => {
  if (block.type === 'thinking') {
    return { ...block, signature: proofOf(model, place, block.thinking ?? '') };
  }
  return block.type === 'redacted_thinking'
    ? { ...block, data: proofOf(model, place, REDACTED) }
    : block;
};

const streamed = (block: Block, index: number) => {
  const { thinking, signature, text, ...rest } = block;
  const deltas = [
    ...(thinking === undefined ? [] : [{ type: 'thinking_delta', thinking }]),
    ...(signature === undefined ? [] : [{ type: 'signature_delta', signature }]),
    ...(text === undefined ? [] : [{ type: 'text_delta', text }]),
  ];
  const empty = {
    ...rest,
    ...(thinking !== undefined && { thinking: '', signature: '' }),
    ...(text !== undefined && { text: '' }),
  };
  return [
    { type: 'content_block_start', index, content_block: empty },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ];
};

const answer = ({ body }: Generated): Answered => {
  const { model, messages } = body as Wire;
  const step = messages.filter(({ role }) => role === 'assistant').length;
  const blocks = turnAt(step).map((block, place) => signed(block, place, model));
  const text = messagesWire([
    { type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } },
    ...blocks.flatMap(streamed),
    {
      type: 'message_delta',
      delta: { stop_reason: step < 2 ? 'tool_use' : 'end_turn' },
      usage: { output_tokens: 9 },
    },
    { type: 'message_stop' },
  ]);
  return { type: 'text/event-stream', text };
};

/** The thinking blocks of a request's history. */
export const thinkingIn = ({ body }: Pick<Generated, 'body'>): number =>
  (body as Wire).messages.flatMap(blocksOf).filter(isThinking).length;

export const startSigningUpstream = () => startGenerationUpstream(refuse, answer);
