import { asArray, asRecord, type Json } from '../../lambdas/protocols/bytes/json.ts';
import { invalidRequest } from '../../lambdas/support/errors.ts';

/**
 * What Google's API rejects in a request: members that the types of @google/genai 3.3.0 do not have, and what its documentation
 * requires of a conversation with calls. None of it comes from the router's codec.
 */
type Shape = { [member: string]: Shape | true };

const shape = (names: string, inner: Shape = {}): Shape => ({
  ...Object.fromEntries(names.split(' ').map((name) => [name, true as const])),
  ...inner,
});

const BLOB = shape('data displayName mimeType');
const FILE = shape('fileUri displayName mimeType');
const MEDIA: Shape = { inlineData: BLOB, fileData: FILE };
const PART = shape('text thought thoughtSignature videoMetadata partMetadata mediaResolution', {
  ...MEDIA,
  functionCall: shape('id name args'),
  functionResponse: shape('id name response scheduling willContinue', { parts: MEDIA }),
  executableCode: shape('code language id'),
  codeExecutionResult: shape('outcome output id'),
});
const CONTENT: Shape = { role: true, parts: PART };
const REQUEST: Shape = {
  ...shape('safetySettings cachedContent serviceTier store'),
  ...{ contents: CONTENT, systemInstruction: CONTENT },
  tools: shape('googleSearch urlContext codeExecution googleMaps fileSearch computerUse', {
    functionDeclarations: shape(
      'name description behavior parameters parametersJsonSchema response responseJsonSchema',
    ),
  }),
  toolConfig: {
    functionCallingConfig: shape('mode allowedFunctionNames streamFunctionCallArguments'),
    retrievalConfig: true,
  },
  generationConfig: shape(
    'temperature topP topK candidateCount maxOutputTokens stopSequences responseMimeType seed ' +
      'responseSchema responseJsonSchema presencePenalty frequencyPenalty responseLogprobs logprobs ' +
      'responseModalities speechConfig mediaResolution imageConfig enableEnhancedCivicAnswers',
    { thinkingConfig: shape('includeThoughts thinkingBudget thinkingLevel') },
  ),
};

const checkMember = (name: string, value: unknown, known: Shape, path: string): void => {
  const next = Object.hasOwn(known, name) ? known[name] : undefined;
  if (next === undefined) {
    const place = `Unknown name "${name}" at '${path}': Cannot find field.`;
    throw invalidRequest(`Invalid JSON payload received. ${place}`);
  }
  if (next !== true) checkShape(value, next, path === '' ? name : `${path}.${name}`);
};

const checkShape = (value: unknown, known: Shape, path: string): void => {
  for (const item of Array.isArray(value) ? value : [value]) {
    for (const [name, inner] of Object.entries(asRecord(item) ?? {})) {
      checkMember(name, inner, known, path);
    }
  }
};

/** Members of which a part has exactly one. */
const DATA = 'text inlineData fileData functionCall functionResponse'.split(' ');

const partsOf = (content: unknown): Json[] =>
  asArray(asRecord(content)?.parts).map((part) => asRecord(part) ?? {});

const count = (content: unknown, name: string): number =>
  partsOf(content).filter((part) => name in part).length;

const requireThat = (holds: boolean, message: string): void => {
  if (!holds) throw invalidRequest(message);
};

/** @throws ApiError 400 in the vendor's words */
export const checkGemini = (body: Json): void => {
  checkShape(body, REQUEST, '');
  const contents = asArray(body.contents);
  requireThat(contents.length > 0, 'GenerateContentRequest.contents: contents is not specified');
  const asked = contents.findLastIndex(
    (content) => asRecord(content)?.role === 'user' && count(content, 'text') > 0,
  );
  contents.forEach((content, index) => {
    const parts = partsOf(content);
    const { role } = asRecord(content) ?? {};
    requireThat(role === 'user' || role === 'model', 'Please use a valid role: user, model.');
    requireThat(parts.length > 0, `contents[${index}].parts: must not be empty.`);
    for (const part of parts) {
      const data = DATA.filter((name) => name in part);
      requireThat(data.length === 1, "required oneof field 'data' must have one initialized field");
    }
    const calls = count(content, 'functionCall');
    const results = count(contents[index + 1], 'functionResponse');
    requireThat(
      calls === 0 || calls === results,
      'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
    );
    const first = parts.find((part) => 'functionCall' in part);
    requireThat(
      index < asked || !first || Boolean(first.thoughtSignature),
      'Function call is missing a thought_signature in functionCall parts.',
    );
  });
};
