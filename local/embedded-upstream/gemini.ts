import { asArray, asRecord, asString, type Json } from '../../lambdas/protocols/bytes/json.ts';
import type {
  Block,
  EventOf,
  FinishReason,
  GenerationEvent,
  GenerationRequest,
  ResponseMeta,
  Tool,
  ToolCallBlock,
  ToolChoice,
  Turn,
  Usage,
} from '../../lambdas/protocols/generation.ts';
import type { CallerProtocol } from '../../lambdas/protocols/protocol.ts';
import type { SseMessage } from '../../lambdas/protocols/streams/sse.ts';
import { checkGemini } from './gemini-rules.ts';

/** Google's half of its protocol: it reads what the router writes, by its types and documentation. */

const NAME = 'gemini';

// --- requests ---

const decodePart = (part: Json): Block[] => {
  const { functionCall, functionResponse, inlineData, fileData } = part;
  const [called, result] = [asRecord(functionCall), asRecord(functionResponse)];
  const media = asRecord(inlineData) ?? asRecord(fileData);
  if (called) {
    const { id, name, args } = called;
    return [
      { type: 'tool-call', id: String(id), name: String(name), arguments: JSON.stringify(args) },
    ];
  }
  if (result) {
    const { output, error } = asRecord(result.response) ?? {};
    const text = asString(output) ?? asString(error) ?? '';
    const content: Block[] = [{ type: 'text', text }];
    const failed = error === undefined ? {} : { isError: true };
    return [{ type: 'tool-result', callId: String(result.id), content, ...failed }];
  }
  if (media) {
    const [mediaType, data] = [String(media.mimeType), String(media.data ?? media.fileUri)];
    const source = { kind: 'base64' as const, mediaType, data };
    return [{ type: mediaType.startsWith('image/') ? 'image' : 'document', source }];
  }
  return part.thought === true ? [] : [{ type: 'text', text: String(part.text) }];
};

const decodeTurn = (content: unknown, usual: Turn['role']): Turn => {
  const { role, parts } = asRecord(content) ?? {};
  const blocks = asArray(parts).flatMap((part) => decodePart(asRecord(part) ?? {}));
  return { role: role === 'model' ? 'assistant' : usual, blocks };
};

const TYPES: Record<string, ToolChoice['type']> = { NONE: 'none', ANY: 'required' };

const decodeChoice = (config: unknown): ToolChoice | undefined => {
  const { mode, allowedFunctionNames } = asRecord(asRecord(config)?.functionCallingConfig) ?? {};
  if (mode === undefined) return undefined;
  const type = TYPES[String(mode)] ?? 'auto';
  const only = asArray(allowedFunctionNames).map(String);
  return type === 'none' || type === 'tool' || only.length === 0
    ? ({ type } as ToolChoice)
    : { type, only };
};

const decodeRequest = (body: unknown): GenerationRequest => {
  const { model, stream, ...sent } = asRecord(body) ?? {};
  checkGemini(sent);
  const config = asRecord(sent.generationConfig) ?? {};
  const tools = asArray(sent.tools).flatMap((one) => asArray(asRecord(one)?.functionDeclarations));
  const toolChoice = decodeChoice(sent.toolConfig);
  const schema = asRecord(config.responseJsonSchema);
  const system = sent.systemInstruction ? [decodeTurn(sent.systemInstruction, 'system')] : [];
  return {
    model: String(model),
    stream: stream === true,
    turns: [...system, ...asArray(sent.contents).map((content) => decodeTurn(content, 'user'))],
    ...(tools.length > 0 && {
      tools: tools.map((tool): Tool => {
        const { name, parametersJsonSchema } = asRecord(tool) ?? {};
        return { name: String(name), parameters: asRecord(parametersJsonSchema) ?? {} };
      }),
    }),
    ...(toolChoice && { toolChoice }),
    ...(typeof config.maxOutputTokens === 'number' && { maxTokens: config.maxOutputTokens }),
    ...(Array.isArray(config.stopSequences) && { stop: config.stopSequences }),
    ...(schema && { responseFormat: { type: 'json-schema' as const, schema } }),
    ...(config.responseMimeType !== undefined &&
      !schema && { responseFormat: { type: 'json' as const } }),
    extras: { protocol: 'chat', fields: {} },
  };
};

// --- responses ---

const REASONS: Record<FinishReason['unified'], string> = {
  ...{ stop: 'STOP', 'stop-sequence': 'STOP', 'tool-calls': 'STOP' },
  ...{ length: 'MAX_TOKENS', 'content-filter': 'SAFETY' },
};

const usageOf = (usage: Usage | undefined): Json => {
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0 } = usage ?? {};
  const { reasoningTokens = 0 } = usage ?? {};
  return {
    promptTokenCount: inputTokens,
    ...(cacheReadTokens > 0 && { cachedContentTokenCount: cacheReadTokens }),
    candidatesTokenCount: outputTokens - reasoningTokens,
    ...(reasoningTokens > 0 && { thoughtsTokenCount: reasoningTokens }),
    totalTokenCount: inputTokens + outputTokens,
  };
};

const responseOf = (parts: Json[], meta: ResponseMeta, end?: Json): Json => {
  const { usageMetadata, ...finish } = end ?? {};
  return {
    candidates: [{ content: { role: 'model', parts }, index: 0, ...finish }],
    ...(usageMetadata !== undefined && { usageMetadata }),
    ...{ modelVersion: meta.model, responseId: meta.id },
  };
};

const endOf = (reason: FinishReason, usage: Usage | undefined): Json => ({
  finishReason: REASONS[reason.unified],
  usageMetadata: usageOf(usage),
});

const callPart = ({ id, name, arguments: text }: ToolCallBlock): Json => ({
  functionCall: { id, name, args: JSON.parse(text || '{}') },
});

/** Writes parts; the signature of thinking is on the part behind it, the first call or a text without characters. */
const createSigner = () => {
  let signature: string | undefined;
  const sign = (part: Json): Json => {
    const signed = signature === undefined ? part : { ...part, thoughtSignature: signature };
    signature = undefined;
    return signed;
  };
  return {
    keep: (own: string | undefined) => {
      signature = own ?? signature;
    },
    sign,
    rest: (): Json[] => (signature === undefined ? [] : [sign({ text: '' })]),
  };
};

const encodeResponse: CallerProtocol['encodeResponse'] = ({ blocks, reason, usage }, _, meta) => {
  const { keep, sign, rest } = createSigner();
  const parts = blocks.flatMap((block): Json[] => {
    if (block.type === 'thinking') {
      keep(block.signature);
      return [{ text: block.text, thought: true }];
    }
    if (block.type === 'tool-call') return [sign(callPart(block))];
    return block.type === 'text' ? [{ text: block.text }] : [];
  });
  return responseOf([...parts, ...rest()], meta, endOf(reason, usage));
};

const encodeError: CallerProtocol['encodeError'] = ({ status, message }) => ({
  error: { code: status, message, status: status === 400 ? 'INVALID_ARGUMENT' : 'INTERNAL' },
});

const streamEncoder: CallerProtocol['streamEncoder'] = (_, meta) => {
  const { keep, sign, rest } = createSigner();
  /** Calls that have begun; a call is one part. */
  const calls = new Map<number, ToolCallBlock>();
  const thoughts = new Set<number>();
  const chunk = (parts: Json[], end?: Json): SseMessage[] => [
    { data: JSON.stringify(responseOf(parts, meta, end)) },
  ];

  const begin = ({ index, block }: EventOf<'block-start'>): SseMessage[] => {
    if (block.type === 'tool-call') calls.set(index, { ...block, arguments: '' });
    if (block.type === 'thinking') thoughts.add(index);
    return [];
  };
  const append = ({ index, delta }: EventOf<'block-delta'>): SseMessage[] => {
    const call = calls.get(index);
    if (!call) return chunk([{ text: delta, ...(thoughts.has(index) && { thought: true }) }]);
    call.arguments += delta;
    return [];
  };
  const close = ({ index, signature }: EventOf<'block-end'>): SseMessage[] => {
    const call = calls.get(index);
    if (thoughts.has(index)) keep(signature);
    return call ? chunk([sign(callPart(call))]) : [];
  };

  const push = (event: GenerationEvent): SseMessage[] => {
    switch (event.type) {
      case 'block-start':
        return begin(event);
      case 'block-delta':
        return append(event);
      case 'block-end':
        return close(event);
      case 'finish':
        return chunk(rest(), endOf(event.reason, event.usage));
      default:
        return [];
    }
  };
  return { push, fail: (error, id) => [{ data: JSON.stringify(encodeError(error, id)) }] };
};

export const gemini = {
  name: NAME,
  decodeRequest,
  encodeResponse,
  streamEncoder,
  encodeError,
  encodeStreamError: (error, requestId) => [
    { data: JSON.stringify(encodeError(error, requestId)) },
  ],
} satisfies Partial<Omit<CallerProtocol, 'name'>> & { name: string };
