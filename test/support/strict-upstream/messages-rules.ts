import {
  type Checker,
  createChecker,
  each,
  flag,
  IMAGE_TYPES,
  inRange,
  isBase64,
  isObject,
  isText,
  isVisible,
  type Json,
  listOf,
  oneOf,
  onlyMembers,
  requireSchema,
} from './checker.ts';

/**
 * What the messages protocol's vendor rejects in a request to `POST /v1/messages`, from its API reference
 * and its documented 400s; none of it comes from the codecs of this project.
 */
const FIELDS =
  'model messages max_tokens system metadata stop_sequences stream temperature top_p top_k tools tool_choice ' +
  'thinking output_config service_tier cache_control container inference_geo';
const ID = /^[a-zA-Z0-9_-]+$/;
const NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const MAX_CACHE_POINTS = 4;
const MIN_THINKING = 1_024;

type Rule = (check: Checker, block: Json, path: string) => void;

const NOT_BLANK = 'text content blocks must contain non-whitespace text';

const checkText: Rule = (check, block, path) => {
  onlyMembers(check, block, path, 'type text cache_control citations');
  check.require(isVisible(block.text), `${path}.text`, NOT_BLANK);
};

const checkLink = (check: Checker, source: Json, path: string) => {
  onlyMembers(check, source, path, 'type url');
  check.require(/^https?:\/\/\S+$/.test(String(source.url)), `${path}.url`, 'must be a link');
};

const checkImage: Rule = (check, block, path) => {
  onlyMembers(check, block, path, 'type source cache_control');
  const { source } = block;
  if (!isObject(source)) return check.reject(`${path}.source`, 'is required');
  if (source.type === 'url') return checkLink(check, source, `${path}.source`);
  onlyMembers(check, source, `${path}.source`, 'type media_type data');
  const isKnown = IMAGE_TYPES.includes(String(source.media_type));
  check.require(isKnown, `${path}.source.media_type`, `must be one of ${IMAGE_TYPES.join()}`);
  return check.require(isBase64(source.data), `${path}.source.data`, 'must be base64');
};

const checkDocument: Rule = (check, block, path) => {
  onlyMembers(check, block, path, 'type source title context citations cache_control');
  const { source } = block;
  if (!isObject(source)) return check.reject(`${path}.source`, 'is required');
  if (source.type === 'url') return checkLink(check, source, `${path}.source`);
  oneOf(check, source.type, `${path}.source.type`, 'base64 text content');
  if (source.type !== 'base64') return;
  const isPdf = source.media_type === 'application/pdf' && isBase64(source.data);
  return check.require(isPdf, `${path}.source`, 'must be application/pdf in base64');
};

const checkToolUse: Rule = (check, block, path) => {
  onlyMembers(check, block, path, 'type id name input cache_control caller');
  check.require(ID.test(String(block.id)), `${path}.id`, `must match ${ID}`);
  check.require(NAME.test(String(block.name)), `${path}.name`, `must match ${NAME}`);
  check.require(isObject(block.input), `${path}.input`, 'must be an object');
};

const checkToolResult: Rule = (check, block, path) => {
  onlyMembers(check, block, path, 'type tool_use_id content is_error cache_control');
  check.require(ID.test(String(block.tool_use_id)), `${path}.tool_use_id`, `must match ${ID}`);
  flag(check, block.is_error, `${path}.is_error`);
  const { content } = block;
  if (content === undefined || isText(content)) return;
  if (!Array.isArray(content)) return check.reject(`${path}.content`, 'must be text or blocks');
  const allowed = block.is_error === true ? ['text'] : ['text', 'image', 'document'];
  each(content, `${path}.content`, (inner, at) => {
    const type = isObject(inner) ? String(inner.type) : '';
    if (!isObject(inner) || !allowed.includes(type)) return check.reject(at, 'is not allowed here');
    return BLOCKS[type]?.(check, inner, at);
  });
};

const checkThinking: Rule = (check, block, path) => {
  onlyMembers(check, block, path, 'type thinking signature');
  check.require(isText(block.thinking), `${path}.thinking`, 'must be a string');
  const isSigned = isText(block.signature) && block.signature !== '';
  check.require(isSigned, `${path}.signature`, 'must be the signature of the vendor');
};

const checkRedacted: Rule = (check, block, path) => {
  onlyMembers(check, block, path, 'type data');
  check.require(isText(block.data) && block.data !== '', `${path}.data`, 'is required');
};

const BLOCKS: Record<string, Rule> = {
  text: checkText,
  image: checkImage,
  document: checkDocument,
  tool_use: checkToolUse,
  tool_result: checkToolResult,
  thinking: checkThinking,
  redacted_thinking: checkRedacted,
};
const OF_ROLE: Record<string, string[]> = {
  user: ['text', 'image', 'document', 'tool_result'],
  assistant: ['text', 'tool_use', 'thinking', 'redacted_thinking'],
};

const checkContent = (check: Checker, message: Json, path: string, isLast: boolean) => {
  const { role, content } = message;
  if (isText(content)) {
    const mayBeEmpty = role === 'assistant' && isLast;
    return check.require(mayBeEmpty || isVisible(content), path, 'must have non-empty content');
  }
  if (!Array.isArray(content) || content.length === 0) {
    return check.reject(path, 'must have non-empty content');
  }
  each(content, `${path}.content`, (block, at) => {
    const type = isObject(block) ? String(block.type) : '';
    if (!isObject(block) || !OF_ROLE[String(role)]?.includes(type)) {
      return check.reject(at, `a block of type '${type}' is not allowed for ${String(role)}`);
    }
    return BLOCKS[type]?.(check, block, at);
  });
};

type Turn = { role: unknown; blocks: Json[] };

/** The vendor joins consecutive messages of one role. */
const turnsOf = (messages: unknown[]): Turn[] => {
  const turns: Turn[] = [];
  for (const message of messages.filter(isObject)) {
    const blocks = listOf(message.content).filter(isObject);
    const last = turns.at(-1);
    if (last && last.role === message.role) last.blocks.push(...blocks);
    else turns.push({ role: message.role, blocks });
  }
  return turns;
};

/** Each tool_use has its tool_result at the beginning of the next turn, and no result is without a call. */
const checkPairs = (check: Checker, turns: Turn[]) => {
  const seen = new Set<unknown>();
  turns.forEach(({ blocks }, index) => {
    const path = `messages (turn ${index})`;
    const calls = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id);
    for (const id of calls) {
      check.require(!seen.has(id), path, `tool_use ids must be unique: ${String(id)}`);
      seen.add(id);
    }
    const next = turns[index + 1]?.blocks ?? [];
    const results = next.filter(({ type }) => type === 'tool_result').map((one) => one.tool_use_id);
    for (const id of calls) {
      const count = results.filter((other) => other === id).length;
      check.require(count === 1, path, `tool_use ${String(id)} has ${count} tool_results`);
    }
    for (const id of results) check.require(calls.includes(id), path, 'unexpected tool_use_id');
    const kinds = blocks.map(({ type }) => type === 'tool_result');
    const isFirst = kinds.lastIndexOf(true) < kinds.filter(Boolean).length;
    check.require(isFirst, path, 'tool_result blocks come first');
  });
  const [first] = turns;
  const hasOrphan = first?.blocks.some(({ type }) => type === 'tool_result') ?? false;
  check.require(!hasOrphan, 'messages.0', 'a tool_result without a tool_use');
};

const checkMessages = (check: Checker, messages: unknown) => {
  if (!Array.isArray(messages) || messages.length === 0) {
    return check.reject('messages', 'at least one message is required');
  }
  each(messages, 'messages', (message, path) => {
    if (!isObject(message)) return check.reject(path, 'must be an object');
    onlyMembers(check, message, path, 'role content');
    oneOf(check, message.role, `${path}.role`, 'user assistant');
    return checkContent(check, message, path, message === messages.at(-1));
  });
  const turns = turnsOf(messages);
  check.require(turns[0]?.role === 'user', 'messages.0.role', 'the first message must be user');
  checkPairs(check, turns);
  const last = messages.at(-1);
  if (!isObject(last) || last.role !== 'assistant') return;
  const end = isText(last.content) ? last.content : listOf(last.content).filter(isObject).at(-1);
  const text = isObject(end) ? end.text : end;
  const isTrimmed = !isText(text) || text === text.trimEnd();
  check.require(isTrimmed, 'messages', 'final assistant content cannot end with whitespace');
};

const checkTools = (check: Checker, { tools, tool_choice: choice, thinking }: Json) => {
  const names = listOf(tools).map((tool) => (isObject(tool) ? tool.name : undefined));
  check.require(new Set(names).size === names.length, 'tools', 'tool names must be unique');
  each(tools, 'tools', (tool, path) => {
    if (!isObject(tool)) return check.reject(path, 'must be an object');
    onlyMembers(check, tool, path, 'type name description input_schema strict cache_control');
    check.require(NAME.test(String(tool.name)), `${path}.name`, `must match ${NAME}`);
    return requireSchema(check, tool.input_schema, `${path}.input_schema`);
  });
  if (choice === undefined) return;
  if (!isObject(choice)) return check.reject('tool_choice', 'must be an object');
  check.require(names.length > 0, 'tool_choice', 'may only be specified with tools');
  oneOf(check, choice.type, 'tool_choice.type', 'auto any tool none');
  const known =
    choice.type === 'none'
      ? 'type'
      : `type disable_parallel_tool_use ${choice.type === 'tool' ? 'name' : ''}`;
  onlyMembers(check, choice, 'tool_choice', known);
  if (choice.type === 'tool') {
    check.require(names.includes(choice.name), 'tool_choice.name', 'must be one of the tools');
  }
  const isForced = choice.type === 'any' || choice.type === 'tool';
  const thinks = isObject(thinking) && thinking.type !== 'disabled';
  check.require(!(isForced && thinks), 'tool_choice', 'thinking forbids a forced tool');
};

const checkThinkingConfig = (check: Checker, body: Json) => {
  const { thinking } = body;
  if (thinking === undefined) return;
  if (!isObject(thinking)) return check.reject('thinking', 'must be an object');
  oneOf(check, thinking.type, 'thinking.type', 'enabled disabled adaptive');
  if (thinking.type === 'disabled') return;
  check.require([undefined, 1].includes(body.temperature as number), 'temperature', 'must be 1');
  if (thinking.type !== 'enabled') return;
  const budget = Number(thinking.budget_tokens);
  const fits = budget >= MIN_THINKING && budget < Number(body.max_tokens);
  return check.require(fits, 'thinking.budget_tokens', 'from 1,024 to below max_tokens');
};

const checkSystem = (check: Checker, system: unknown) => {
  if (system === undefined) return;
  if (isText(system)) return check.require(isVisible(system), 'system', NOT_BLANK);
  each(system, 'system', (block, path) => {
    if (!isObject(block)) return check.reject(path, 'must be a text block');
    return checkText(check, block, path);
  });
};

const checkSampling = (check: Checker, body: Json) => {
  inRange(check, body.temperature, 'temperature', [0, 1]);
  inRange(check, body.top_p, 'top_p', [0, 1]);
  inRange(check, body.top_k, 'top_k', [0, 1_000_000]);
  for (const stop of listOf(body.stop_sequences)) {
    check.require(isVisible(stop), 'stop_sequences', 'each must contain non-whitespace');
  }
  if (isObject(body.metadata)) onlyMembers(check, body.metadata, 'metadata', 'user_id');
  const { output_config: output } = body;
  if (!isObject(output)) return;
  onlyMembers(check, output, 'output_config', 'effort format');
  oneOf(check, output.effort, 'output_config.effort', 'low medium high xhigh max');
};

/** Reasons for which the vendor would answer 400; empty if it takes the request. */
export const messagesRejections = (body: unknown): string[] => {
  const check = createChecker();
  if (!isObject(body)) return ['body: must be a JSON object'];
  onlyMembers(check, body, 'body', FIELDS);
  check.require(isText(body.model) && body.model !== '', 'model', 'is required');
  const hasCap = Number.isInteger(body.max_tokens) && Number(body.max_tokens) >= 1;
  check.require(hasCap, 'max_tokens', 'is required and at least 1');
  checkMessages(check, body.messages);
  checkSystem(check, body.system);
  checkTools(check, body);
  checkThinkingConfig(check, body);
  checkSampling(check, body);
  flag(check, body.stream, 'stream');
  const points = JSON.stringify(body).split('"cache_control"').length - 1;
  check.require(points <= MAX_CACHE_POINTS, 'cache_control', 'at most 4 blocks');
  return check.rejections;
};
