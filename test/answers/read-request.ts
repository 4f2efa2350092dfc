import { isObject, isText, type Json, listOf } from '../support/strict-upstream/checker.ts';

/** What an upstream was asked, as the statements of `statementsOf`. Expects a request that the rules allow. */
const objects = (value: unknown): Json[] => listOf(value).filter(isObject);

const DATA = /^data:[^,]*,/;

type Names = Map<unknown, string>;

const chatParts = (role: string, content: unknown): string[][] => {
  if (isText(content)) return [[role, content]];
  return objects(content).map(({ text, image_url: image }) =>
    isObject(image) ? ['image', String(image.url).replace(DATA, '')] : [role, String(text)],
  );
};

const chatMessage = (message: Json, names: Names): string[][] => {
  if (message.role === 'tool') {
    const [[, text] = []] = chatParts('result', message.content);
    return [['result', names.get(message.tool_call_id) ?? '', text ?? '']];
  }
  const calls = objects(message.tool_calls).map(({ id, function: called }) => {
    const { name, arguments: text } = isObject(called) ? called : {};
    names.set(id, String(name));
    return ['call', String(name), JSON.stringify(JSON.parse(String(text)))];
  });
  return [...chatParts(String(message.role), message.content), ...calls];
};

const wordOf = (choice: unknown): string => (isText(choice) ? choice : 'auto');

const readChat = (body: Json): string[][] => {
  const names: Names = new Map();
  const tools = objects(body.tools).map((tool) => (isObject(tool.function) ? tool.function : {}));
  return [
    ...objects(body.messages).flatMap((message) => chatMessage(message, names)),
    ...tools.map(({ name, description }) => ['tool', String(name), String(description)]),
    ...(isText(body.stop) ? [body.stop] : listOf(body.stop)).map((text) => ['stop', String(text)]),
    ['temperature', String(body.temperature)],
    ['choice', wordOf(body.tool_choice)],
  ];
};

const textOf = (content: unknown): string =>
  isText(content)
    ? content
    : objects(content)
        .map(({ text }) => String(text))
        .join('');

const messagesBlock = (role: string, block: Json, names: Names): string[] => {
  switch (block.type) {
    case 'tool_use':
      names.set(block.id, String(block.name));
      return ['call', String(block.name), JSON.stringify(block.input)];
    case 'tool_result':
      return ['result', names.get(block.tool_use_id) ?? '', textOf(block.content)];
    case 'image':
      return ['image', String(isObject(block.source) ? block.source.data : '')];
    default:
      return [role, String(block.text)];
  }
};

const messagesMessage = ({ role, content }: Json, names: Names): string[][] =>
  isText(content)
    ? [[String(role), content]]
    : objects(content).map((block) => messagesBlock(String(role), block, names));

const CHOICES: Record<string, string> = { any: 'required', auto: 'auto', none: 'none' };

const readMessages = (body: Json): string[][] => {
  const names: Names = new Map();
  const choice = isObject(body.tool_choice) ? String(body.tool_choice.type) : 'auto';
  return [
    ...(body.system === undefined ? [] : [['system', textOf(body.system)]]),
    ...objects(body.messages).flatMap((message) => messagesMessage(message, names)),
    ...objects(body.tools).map((tool) => ['tool', String(tool.name), String(tool.description)]),
    ...listOf(body.stop_sequences).map((text) => ['stop', String(text)]),
    ['temperature', String(body.temperature)],
    ['choice', CHOICES[choice] ?? choice],
  ];
};

const responsesItem = (item: Json, names: Names): string[][] => {
  switch (item.type) {
    case 'function_call':
      names.set(item.call_id, String(item.name));
      return [['call', String(item.name), JSON.stringify(JSON.parse(String(item.arguments)))]];
    case 'function_call_output':
      return [['result', names.get(item.call_id) ?? '', textOf(item.output)]];
    default: {
      const role = item.role === 'developer' ? 'system' : String(item.role);
      if (isText(item.content)) return [[role, item.content]];
      return objects(item.content).map(({ text, image_url: url }) =>
        url === undefined ? [role, String(text)] : ['image', String(url).replace(DATA, '')],
      );
    }
  }
};

const readResponses = (body: Json): string[][] => {
  const names: Names = new Map();
  return [
    ...(isText(body.instructions) ? [['system', body.instructions]] : []),
    ...objects(body.input).flatMap((item) => responsesItem(item, names)),
    ...objects(body.tools).map((tool) => ['tool', String(tool.name), String(tool.description)]),
    ['temperature', String(body.temperature)],
    ['choice', wordOf(body.tool_choice)],
  ];
};

const geminiPart = (role: string, part: Json): string[] => {
  const { functionCall: called, functionResponse: result, inlineData: media } = part;
  if (isObject(called)) return ['call', String(called.name), JSON.stringify(called.args)];
  if (isObject(result)) {
    const { output } = isObject(result.response) ? result.response : {};
    return ['result', String(result.name), String(output)];
  }
  return isObject(media) ? ['image', String(media.data)] : [role, String(part.text)];
};

const ROLES: Record<string, string> = { model: 'assistant', user: 'user' };

const readGemini = (body: Json): string[][] => {
  const partsOf = (content: unknown, role: string) =>
    objects(isObject(content) ? content.parts : []).map((part) => geminiPart(role, part));
  const config = isObject(body.generationConfig) ? body.generationConfig : {};
  const { functionCallingConfig: calling } = isObject(body.toolConfig) ? body.toolConfig : {};
  const mode = isObject(calling) ? String(calling.mode).toLowerCase() : 'auto';
  return [
    ...partsOf(body.systemInstruction, 'system'),
    ...objects(body.contents).flatMap((one) => partsOf(one, ROLES[String(one.role)] ?? '')),
    ...objects(body.tools)
      .flatMap((tool) => objects(tool.functionDeclarations))
      .map((tool) => ['tool', String(tool.name), String(tool.description)]),
    ...listOf(config.stopSequences).map((text) => ['stop', String(text)]),
    ['temperature', String(config.temperature)],
    ['choice', CHOICES[mode] ?? mode],
  ];
};

export const readRequest = {
  chat: readChat,
  messages: readMessages,
  responses: readResponses,
  gemini: readGemini,
};
