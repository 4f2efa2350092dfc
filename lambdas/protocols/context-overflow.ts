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
