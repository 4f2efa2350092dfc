import { checkGemini } from '../../../local/embedded-upstream/gemini-rules.ts';
import { judgeOf } from '../type-judge.ts';
import { createChecker, each, inRange, isObject, type Json, listOf } from './checker.ts';

/**
 * What Google's API rejects in a request to `generateContent`: what the types of its SDK do not allow, and the 400s of its
 * documentation; none of it comes from the codecs of this project.
 */
const judges: Record<string, ReturnType<typeof judgeOf>> = {
  content: judgeOf('@google/genai', 'Content'),
  tool: judgeOf('@google/genai', 'Tool'),
  toolConfig: judgeOf('@google/genai', 'ToolConfig'),
  generationConfig: judgeOf('@google/genai', 'GenerationConfig'),
};

const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/;
const MAX_STOPS = 5;

/** What its SDK's types list at \`responseJsonSchema\`, for the schemas of functions too. */
const KEYWORDS =
  '$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum maximum anyOf oneOf properties additionalProperties required propertyOrdering'.split(
    ' ',
  );

/** Paths of the keywords of a schema that are not supported. */
const unsupportedIn = (schema: unknown, path: string): string[] => {
  if (Array.isArray(schema))
    return schema.flatMap((one, at) => unsupportedIn(one, `${path}.${at}`));
  return Object.entries(isObject(schema) ? schema : {}).flatMap(([name, value]) => {
    const at = `${path}.${name}`;
    if (!KEYWORDS.includes(name)) return [at];
    if (['properties', '$defs'].includes(name) && isObject(value))
      return Object.entries(value).flatMap(([key, one]) => unsupportedIn(one, `${at}.${key}`));
    return unsupportedIn(value, at);
  });
};

/** Values of the body by the type that judges them. */
const judged = (body: Json): [type: string, path: string, value: unknown][] => [
  ...listOf(body.contents).map((one, at): [string, string, unknown] => [
    ...(['content', `contents.${at}`] as const),
    one,
  ]),
  ['content', 'systemInstruction', body.systemInstruction ?? {}],
  ...listOf(body.tools).map((one, at): [string, string, unknown] => [
    ...(['tool', `tools.${at}`] as const),
    one,
  ]),
  ['toolConfig', 'toolConfig', body.toolConfig ?? {}],
  ['generationConfig', 'generationConfig', body.generationConfig ?? {}],
];

/** Its documentation's rules of a conversation with calls. */
const conversationFault = (body: Json): string[] => {
  try {
    checkGemini(body);
    return [];
  } catch (error) {
    return [`contents: ${error instanceof Error ? error.message : String(error)}`];
  }
};

/** Reasons for which the vendor would answer 400; empty if it takes the request. */
export const geminiRejections = (body: unknown): string[] => {
  const check = createChecker();
  if (!isObject(body)) return ['body: must be a JSON object'];
  for (const [type, path, value] of judged(body)) {
    for (const fault of judges[type]?.(value) ?? []) check.reject(`${path}.${fault}`, type);
  }
  const names = listOf(body.tools).flatMap((tool) =>
    listOf(isObject(tool) ? tool.functionDeclarations : []),
  );
  const taken = new Set<unknown>();
  const schemas: [schema: unknown, path: string][] = [];
  each(names, 'tools.0.functionDeclarations', (one, at) => {
    const { name, parametersJsonSchema } = isObject(one) ? one : {};
    schemas.push([parametersJsonSchema, `${at}.parametersJsonSchema`]);
    check.require(NAME.test(String(name)), `${at}.name`, `must match ${NAME}`);
    check.require(!taken.has(name), `${at}.name`, 'duplicate function declaration');
    taken.add(name);
  });
  const { toolConfig, generationConfig } = body;
  const calling = isObject(toolConfig) ? toolConfig.functionCallingConfig : undefined;
  const { mode, allowedFunctionNames } = isObject(calling) ? calling : {};
  const only = listOf(allowedFunctionNames);
  const mayName = only.length === 0 || mode === 'ANY' || mode === 'VALIDATED';
  check.require(mayName, 'toolConfig', 'allowed_function_names only with mode ANY or VALIDATED');
  for (const name of only) check.require(taken.has(name), 'toolConfig', `no function ${name}`);
  const config = isObject(generationConfig) ? generationConfig : {};
  schemas.push([config.responseJsonSchema, 'generationConfig.responseJsonSchema']);
  for (const path of schemas.flatMap(([schema, at]) => unsupportedIn(schema, at)))
    check.reject(path, 'is not supported');
  inRange(check, config.temperature, 'generationConfig.temperature', [0, 2]);
  inRange(check, config.topP, 'generationConfig.topP', [0, 1]);
  const stops = listOf(config.stopSequences).length;
  check.require(stops <= MAX_STOPS, 'generationConfig.stopSequences', `at most ${MAX_STOPS}`);
  return [...check.rejections, ...conversationFault(body)];
};
