import type { ModelDifference, Rule } from './model-difference.ts';

/** The most tokens of output, of the model or behind a prompt that fits; undefined where the prompt does not. */
const capOf = (most = '', prompt = '0'): ModelDifference | undefined => {
  const is = Number(most) - Number(prompt);
  return is > 0 ? { member: 'cap', is } : undefined;
};
const capBehind = (prompt: string, most: string) => capOf(most, prompt);

/** Words for a cap that is larger than the room behind the prompt, or than the model's maximum. */
export const CAP_RULES: Rule[] = [
  // Anthropic. OpenAI, DeepSeek and others. vLLM, in two versions. SGLang.
  [/max_tokens exceed context limit: (\d{1,9}) \+ \d{1,9} > (\d{1,9})/, capBehind],
  [
    /context length (?:is|of) (\d{1,9}) tokens\. .{1,60}? (?:\(|\d{1,9} tokens: )(\d{1,9}) (?:tokens from the input|in the) messages/,
    capOf,
  ],
  [/context length is (\d{1,9}) tokens and your request has (\d{1,9}) input tokens/, capOf],
  [
    /passed (\d{1,9}) input tokens and requested \d{1,9} output tokens\..{1,40}context length is only (\d{1,9}) tokens/,
    capBehind,
  ],
  // The model's own maximum: Anthropic, OpenAI, Groq, DeepSeek and Qwen, Bedrock.
  [/max_tokens: \d{1,9} > (\d{1,9}), which is the maximum/, capOf],
  [/max_(?:completion_)?tokens is too large: .{1,60}supports at most (\d{1,9})/, capOf],
  [/max_(?:completion_)?tokens must be less than or equal to (\d{1,9})/, capOf],
  [/range of max_(?:completion_)?tokens (?:is|should be) \[1, ?(\d{1,9})\]/, capOf],
  [/maximum tokens you requested exceeds the model limit of (\d{1,9})/, capOf],
];
