import { asArray, asCount, asRecord, asString, type Json } from '../bytes/json.ts';
import type { AnswerBlock, Block, Extras, ThinkingBlock } from '../generation.ts';
import { isSigned } from '../thinking/origin.ts';

/**
 * Signed thinking in messages of chat: `reasoning_details`, the field in which OpenRouter and its clients
 * carry it. A client that sends its messages back whole keeps a model's thinking in a loop of tools; one
 * that drops the field loses only the thinking.
 */

/** Where thinking is in its message: after so many characters of the content and so many calls. */
type Position = { characters: number; calls: number };
export type Thought = Pick<ThinkingBlock, 'text' | 'signature' | 'redacted'> & Position;

// --- canonical -> wire ---

const detailOf = (
  { text, signature, redacted, characters, calls }: Thought,
  index: number,
): Json => ({
  ...(redacted
    ? { type: 'reasoning.encrypted', data: signature }
    : { type: 'reasoning.text', text, signature }),
  index,
  // A vendor rejects thinking that is moved within its turn.
  ...(characters + calls > 0 && { position: [characters, calls] }),
});

/** The details of the signed thoughts; absent without any. */
export const encodeThoughts = (thoughts: Thought[]): { reasoning_details?: Json[] } => {
  const details = thoughts.filter(({ signature }) => isSigned(signature)).map(detailOf);
  return details.length > 0 ? { reasoning_details: details } : {};
};

/** The thoughts of a whole response, with their positions. */
export const thoughtsIn = (blocks: AnswerBlock[]): Thought[] => {
  const position = { characters: 0, calls: 0 };
  return blocks.flatMap((block) => {
    if (block.type === 'thinking') return [{ ...block, ...position }];
    if (block.type === 'text' && !block.refusal) position.characters += block.text.length;
    if (block.type === 'tool-call') position.calls += 1;
    return [];
  });
};

// --- wire -> canonical ---

const decodeThought = (value: unknown): Thought[] => {
  const { type, text, signature, data, position } = asRecord(value) ?? {};
  const redacted = type === 'reasoning.encrypted';
  const proof = asString(redacted ? data : signature);
  if (!isSigned(proof)) return [];
  const [characters, calls] = asArray(position).map((count) => asCount(count) ?? 0);
  return [
    {
      text: asString(text) ?? '',
      ...(proof !== undefined && { signature: proof }),
      ...(redacted && { redacted }),
      characters: characters ?? 0,
      calls: calls ?? 0,
    },
  ];
};

/** The thoughts that this router signed; those of other services stay as they are. */
export const decodeThoughts = (details: unknown): Thought[] =>
  asArray(details).flatMap(decodeThought);

/** Marks a text that continues the one before it. */
const PIECE: Extras = { protocol: 'chat', fields: { piece: true } };

/** Joins the pieces of a text: chat has no thinking between them. */
export const joinPieces = (blocks: Block[]): Block[] => {
  const joined: Block[] = [];
  for (const block of blocks) {
    const last = joined.at(-1);
    const isPiece = block.type === 'text' && block.extras === PIECE;
    if (!isPiece) joined.push(block);
    else if (last?.type === 'text')
      joined[joined.length - 1] = { ...last, text: last.text + block.text };
    else joined.push({ type: 'text', text: block.text });
  }
  return joined;
};

const thinkingOf = ({ characters: _, calls: __, ...thinking }: Thought): Block => ({
  type: 'thinking',
  ...thinking,
});

/** The blocks of a message with its thoughts in their places; before content that is not one text. */
export const placeThoughts = (thoughts: Thought[], content: Block[], calls: Block[]): Block[] => {
  const [text, ...others] = content;
  if (others.length > 0 || (text && text.type !== 'text')) {
    return [...thoughts.map(thinkingOf), ...content, ...calls];
  }
  const cut = (from: number, to?: number): Block[] => {
    const part = text?.text.slice(from, to);
    if (!text || !part) return [];
    return [{ ...text, text: part, ...(from > 0 && { extras: PIECE }) }];
  };
  let last: Position = { characters: 0, calls: 0 };
  const placed = thoughts.flatMap((thought) => {
    const { characters, calls: count } = last;
    // Never back: content would be sent twice, and a small request could become one of gigabytes.
    last = {
      characters: Math.max(characters, thought.characters),
      calls: Math.max(count, thought.calls),
    };
    return [
      ...cut(characters, last.characters),
      ...calls.slice(count, last.calls),
      thinkingOf(thought),
    ];
  });
  return [...placed, ...cut(last.characters), ...calls.slice(last.calls)];
};
