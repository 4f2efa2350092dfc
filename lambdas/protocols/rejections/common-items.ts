import { asArray, asRecord } from '../bytes/json.ts';
import type { ModelDifference } from './model-difference.ts';

/** Tools and items of agents, which only the vendor's own service knows. */
const OF_AGENTS =
  /^(?:custom|namespace|tool_search|(?:local_)?shell|apply_patch|additional_tools|agent_message)/;

/** Also a schema without a type, and an item of an earlier response without its id, as agents send them. */
const isOfAgent = (one: unknown): boolean => {
  const { id, type, role, content, parameters } = asRecord(one) ?? {};
  const isOutput = type === 'reasoning' || (role === 'assistant' && Array.isArray(content));
  const hasNoType = asRecord(parameters)?.type === undefined && parameters !== undefined;
  return OF_AGENTS.test(String(type)) || hasNoType || (isOutput && id === undefined);
};

/** Words of servers that check tools and items against types of their own, in lower case and without quotation marks. */
const REFUSED = [
  // vLLM, SGLang and others in Python: (body, input, str); body -> input -> 3; input.str: input should be a valid string.
  /\bbody\W{1,5}input\b|^input[.:[]/,
  // LM Studio, Azure, gateways: tools.6.type: invalid; tools[6].type; (body, tools, 6, custom, type).
  /\btools\W{1,5}\d{1,5}\]?(?:(?![\w.,[\]])|(?:\W{1,5}\w{1,40}){0,2}\W{1,5}type\b)/,
  // llama.cpp: type of tool must be function. Gateways: unsupported responses tool type: custom.
  /\btools? type\b|\btype of tool\b/,
  // LM Studio. OpenRouter. Ollama and servers that check as OpenAI does; the router has checked that each call has an output.
  /invalid type for input\b|invalid responses api request|(?:unknown|invalid) input (?:item )?type\b|invalid value: (?:additional|agent|custom)_|no tool output found for/,
];

/** The difference of a server that rejects what an agent sends on responses; undefined for the requests of others. */
export const refusedItems = (text: string, sent: unknown): ModelDifference | undefined => {
  const { tools, input } = asRecord(sent) ?? {};
  const isAsked = [...asArray(tools), ...asArray(input)].some(isOfAgent);
  return input && isAsked && REFUSED.some((words) => words.test(text))
    ? { member: 'items', is: 'common' }
    : undefined;
};
