import {
  checkCall,
  checkFunctionCall,
  checkFunctions,
  checkTools,
  NAME,
} from './chat-tool-rules.ts';
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
  type Json,
  listOf,
  oneOf,
  onlyMembers,
} from './checker.ts';

/**
 * What the chat protocol's vendor rejects in a request to `POST /chat/completions`, from its published
 * API description and its documented 400s; none of it comes from the codecs of this project.
 */
const FIELDS =
  'model messages stream stream_options max_tokens max_completion_tokens temperature top_p stop tools ' +
  'tool_choice parallel_tool_calls response_format reasoning_effort user safety_identifier ' +
  'prompt_cache_key frequency_penalty presence_penalty logit_bias logprobs top_logprobs n seed metadata ' +
  'store service_tier modalities audio prediction verbosity web_search_options functions function_call';
const MAX_STOPS = 4;
const DATA_URL = /^data:(?<type>[a-z]+\/[a-z0-9.+-]+);base64,(?<data>.*)$/s;

const checkImage = (check: Checker, image: unknown, path: string) => {
  if (!isObject(image)) return check.reject(path, 'must be an object');
  onlyMembers(check, image, path, 'url detail');
  oneOf(check, image.detail, `${path}.detail`, 'auto low high');
  const { type, data } = DATA_URL.exec(String(image.url))?.groups ?? {};
  const isInline = type !== undefined && IMAGE_TYPES.includes(type) && isBase64(data);
  const isLink = /^https?:\/\/\S+$/.test(String(image.url));
  return check.require(isInline || isLink, `${path}.url`, 'must be an image as data or a link');
};

const checkFile = (check: Checker, file: unknown, path: string) => {
  if (!isObject(file)) return check.reject(path, 'must be an object');
  onlyMembers(check, file, path, 'file_data file_id filename');
  const isRight = isText(file.file_id) || DATA_URL.test(String(file.file_data));
  return check.require(isRight, `${path}.file_data`, 'must be data of a known type');
};

const checkAudio = (check: Checker, audio: unknown, path: string) => {
  const isRight = isObject(audio) && isBase64(audio.data) && /^(wav|mp3)$/.test(`${audio.format}`);
  check.require(isRight, path, 'must be wav or mp3 in base64');
};

const PARTS: Record<string, (check: Checker, part: Json, path: string) => void> = {
  text: (check, part, path) => {
    onlyMembers(check, part, path, 'type text');
    check.require(isText(part.text), `${path}.text`, 'must be a string');
  },
  refusal: (check, part, path) => {
    check.require(isText(part.refusal), `${path}.refusal`, 'must be a string');
  },
  image_url: (check, part, path) => checkImage(check, part.image_url, `${path}.image_url`),
  file: (check, part, path) => checkFile(check, part.file, `${path}.file`),
  input_audio: (check, part, path) => checkAudio(check, part.input_audio, `${path}.input_audio`),
};

const checkContent = (check: Checker, content: unknown, path: string, kinds: string) => {
  if (isText(content)) return;
  if (!Array.isArray(content) || content.length === 0) {
    return check.reject(path, 'must be a string or a list of at least one part');
  }
  each(content, path, (part, at) => {
    if (!isObject(part)) return check.reject(at, 'must be an object');
    if (!kinds.split(' ').includes(String(part.type))) {
      return check.reject(`${at}.type`, `must be one of ${kinds}, got ${String(part.type)}`);
    }
    return PARTS[String(part.type)]?.(check, part, at);
  });
};

const checkAudioId = (check: Checker, audio: unknown, path: string) => {
  if (!isObject(audio)) return check.reject(path, 'must be an object');
  onlyMembers(check, audio, path, 'id');
  return check.require(isText(audio.id), `${path}.id`, 'is required');
};

const checkAssistant = (check: Checker, message: Json, path: string) => {
  onlyMembers(check, message, path, 'role content name tool_calls refusal audio function_call');
  const { function_call: called, audio } = message;
  if (called !== undefined) checkFunctionCall(check, called, `${path}.function_call`);
  if (audio !== undefined) checkAudioId(check, audio, `${path}.audio`);
  const calls = message.tool_calls;
  if (calls !== undefined) {
    const isList = Array.isArray(calls) && calls.length > 0;
    check.require(isList, `${path}.tool_calls`, 'must hold at least one call');
    each(calls, `${path}.tool_calls`, (call, at) => checkCall(check, call, at));
    const ids = listOf(calls).map((call) => (isObject(call) ? call.id : undefined));
    check.require(new Set(ids).size === ids.length, `${path}.tool_calls`, 'ids must be unique');
  }
  const mayLackContent = [calls, message.refusal, called, audio].some((one) => one !== undefined);
  const isAbsent = message.content === null || message.content === undefined;
  if (isAbsent) return check.require(mayLackContent, `${path}.content`, 'is required');
  return checkContent(check, message.content, `${path}.content`, 'text refusal');
};

const ROLES: Record<string, (check: Checker, message: Json, path: string) => void> = {
  assistant: checkAssistant,
  user: (check, message, path) => {
    onlyMembers(check, message, path, 'role content name');
    checkContent(check, message.content, `${path}.content`, 'text image_url input_audio file');
  },
  tool: (check, message, path) => {
    // The description has no `name` here; the vendor takes it from the clients that send it.
    onlyMembers(check, message, path, 'role content tool_call_id name');
    check.require(isText(message.tool_call_id), `${path}.tool_call_id`, 'is required');
    checkContent(check, message.content, `${path}.content`, 'text');
  },
  function: (check, message, path) => {
    onlyMembers(check, message, path, 'role content name');
    check.require(NAME.test(String(message.name)), `${path}.name`, `must match ${NAME}`);
    check.require(isText(message.content), `${path}.content`, 'must be a string');
  },
};
const checkInstruction = (check: Checker, message: Json, path: string) => {
  onlyMembers(check, message, path, 'role content name');
  checkContent(check, message.content, `${path}.content`, 'text');
};
ROLES.system = checkInstruction;
ROLES.developer = checkInstruction;

/** "An assistant message with 'tool_calls' must be followed by tool messages responding to each id". */
const checkPairs = (check: Checker, messages: unknown[]) => {
  let open = new Set<unknown>();
  messages.forEach((message, index) => {
    if (!isObject(message)) return;
    const path = `messages.${index}`;
    if (message.role === 'tool') {
      check.require(open.delete(message.tool_call_id), path, 'answers no preceding tool call');
      return;
    }
    check.require(open.size === 0, path, `tool calls have no response: ${[...open].join()}`);
    const calls = message.role === 'assistant' ? listOf(message.tool_calls) : [];
    open = new Set(calls.map((call) => (isObject(call) ? call.id : undefined)));
  });
  check.require(open.size === 0, 'messages', `tool calls have no response: ${[...open].join()}`);
};

const checkMessages = (check: Checker, messages: unknown) => {
  if (!Array.isArray(messages) || messages.length === 0) {
    return check.reject('messages', 'must hold at least one message');
  }
  each(messages, 'messages', (message, path) => {
    const rules = isObject(message) ? ROLES[String(message.role)] : undefined;
    if (!isObject(message) || !rules) return check.reject(path, 'has an unknown role');
    return rules(check, message, path);
  });
  return checkPairs(check, messages);
};

const MAX_CHOICES = 128;

/** Several choices, and spoken responses: streamed ones in one format only. */
const checkOutput = (check: Checker, { n, modalities, audio, stream }: Json) => {
  inRange(check, n, 'n', [1, MAX_CHOICES]);
  each(modalities, 'modalities', (one, path) => oneOf(check, one, path, 'text audio'));
  const isSpoken = listOf(modalities).includes('audio');
  check.require(isSpoken === (audio !== undefined), 'audio', 'goes with the modality audio');
  if (!isObject(audio)) return;
  onlyMembers(check, audio, 'audio', 'voice format');
  oneOf(check, audio.format, 'audio.format', stream === true ? 'pcm16' : 'wav mp3 flac opus pcm16');
};

const checkFormat = (check: Checker, format: unknown, messages: unknown) => {
  if (format === undefined) return;
  if (!isObject(format)) return check.reject('response_format', 'must be an object');
  oneOf(check, format.type, 'response_format.type', 'text json_object json_schema');
  if (format.type === 'json_object') {
    const isAsked = /json/i.test(JSON.stringify(messages));
    check.require(isAsked, 'messages', "must contain the word 'json' in some form");
  }
  if (format.type !== 'json_schema') return;
  const schema = isObject(format.json_schema) ? format.json_schema : {};
  check.require(NAME.test(String(schema.name)), 'response_format.json_schema.name', 'is required');
};

const checkSampling = (check: Checker, body: Json) => {
  inRange(check, body.temperature, 'temperature', [0, 2]);
  inRange(check, body.top_p, 'top_p', [0, 1]);
  inRange(check, body.frequency_penalty, 'frequency_penalty', [-2, 2]);
  inRange(check, body.presence_penalty, 'presence_penalty', [-2, 2]);
  const { stop } = body;
  const stops = isText(stop) ? [stop] : listOf(stop);
  const isList = stop === undefined || stop === null || isText(stop) || Array.isArray(stop);
  check.require(isList && stops.every(isText), 'stop', 'must be a string or a list of strings');
  check.require(stops.length <= MAX_STOPS, 'stop', `must hold at most ${MAX_STOPS} sequences`);
  const efforts = 'none minimal low medium high xhigh max';
  oneOf(check, body.reasoning_effort, 'reasoning_effort', efforts);
};

const checkCaps = (check: Checker, body: Json) => {
  const caps = ['max_tokens', 'max_completion_tokens'].filter((name) => body[name] !== undefined);
  check.require(caps.length < 2, 'max_tokens', 'must not stand next to max_completion_tokens');
  for (const name of caps) {
    check.require(
      Number.isInteger(body[name]) && Number(body[name]) >= 1,
      name,
      'must be at least 1',
    );
  }
};

/** Reasons for which the vendor would answer 400; empty if it takes the request. */
export const chatRejections = (body: unknown): string[] => {
  const check = createChecker();
  if (!isObject(body)) return ['body: must be a JSON object'];
  onlyMembers(check, body, 'body', FIELDS);
  check.require(isText(body.model) && body.model !== '', 'model', 'is required');
  checkMessages(check, body.messages);
  checkTools(check, body);
  checkFunctions(check, body);
  checkOutput(check, body);
  checkFormat(check, body.response_format, body.messages);
  checkSampling(check, body);
  checkCaps(check, body);
  flag(check, body.stream, 'stream');
  const isStreamed = body.stream === true;
  const { stream_options: options } = body;
  check.require(options === undefined || isStreamed, 'stream_options', 'requires stream: true');
  if (isObject(options)) {
    onlyMembers(check, options, 'stream_options', 'include_usage include_obfuscation');
  }
  return check.rejections;
};
