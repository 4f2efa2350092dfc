import type { Overflow } from './upstream-error.ts';

/**
 * How upstreams say that a prompt is too long. Their texts differ, their status is 400 or 413, and this
 * is the one refusal whose meaning must reach the caller: agents compact their history on it.
 */
const WORDINGS = [
  /context_length_exceeded/i,
  /maximum context length/i,
  /prompt is too long/i,
  /context (?:window|length|limit)/i,
  /exceeds? the (?:model'?s )?(?:maximum )?(?:number of )?(?:input )?tokens/i,
  /too many (?:input )?tokens/i,
  /input is too long/i,
  /context size/i,
  /maximum prompt length/i,
  /exceeded model token limit/i,
  /range of input length/i,
  /prompt exceeds max length/i,
  /`inputs` tokens/i,
];

export const saysContextOverflow = (body: string): boolean =>
  WORDINGS.some((wording) => wording.test(body));

/** Where upstreams put the two numbers, in either order. */
const NUMBERS = [
  /(?<tokens>\d+) tokens > (?<most>\d+) maximum/,
  /maximum context length is (?<most>\d+) tokens.*?(?:resulted in|requested) (?<tokens>\d+) tokens/s,
  /token count \((?<tokens>\d+)\) exceeds [^(]*\((?<most>\d+)\)/,
  /maximum prompt length is (?<most>\d+) but the request contains (?<tokens>\d+)/,
  /token limit: (?<most>\d+) \(requested: (?<tokens>\d+)\)/,
  /contains (?<tokens>\d+) tokens.*?model with (?<most>\d+) maximum/s,
];

/** The two numbers, where the upstream gives both and they say what it says. */
export const readOverflow = (body: string): Overflow | undefined => {
  for (const pattern of NUMBERS) {
    const { tokens, most } = pattern.exec(body)?.groups ?? {};
    const read = { tokens: Number(tokens), most: Number(most) };
    if (read.tokens > read.most) return read;
  }
  return undefined;
};
