import type {
  AnswerBlock,
  BlockHead,
  Generation,
  GenerationEvent,
  GenerationRequest,
  ResponseMeta,
} from '../../lambdas/protocols/generation.ts';
import { formatSse } from '../../lambdas/protocols/streams/sse.ts';
import { words } from './bounds.ts';
import { readDirectives } from './directives.ts';
import {
  breakOff,
  breakOffIndex,
  type Fault,
  faultOfModel,
  parseFault,
  sendFault,
} from './faults.ts';
import { generate, readPrompt } from './model.ts';
import type { ResponseWriter } from './response-writer.ts';
import { PAUSE, STREAM_ODDITIES } from './stream-oddities.ts';
import type { Wire } from './wires.ts';

// --- what is sent ---

type PlannedResponse = {
  protocol: Wire['protocol'];
  request: GenerationRequest;
  generation: Generation;
  /** Its `model` is the upstream's model name. */
  meta: ResponseMeta;
  fault: Fault | undefined;
  failureText: string;
  /** Delay before every message, in milliseconds. */
  delayMs: number;
};

const faultOfPrompt = (request: GenerationRequest): Fault | undefined =>
  parseFault(readDirectives(readPrompt(request).text).fault ?? '');

type Plan = {
  /** Overrides a fault named by the model or the prompt. */
  injected: Fault | undefined;
  newId(): string;
  /** Unix seconds. */
  created: number;
  delayMs: number;
  failureText?: string | undefined;
};

/** Plans the response to one call, in the style of the wire's providers, and its fault, if any. */
export const planResponse = (
  { protocol, callIdPrefix, signsThinking }: Wire,
  request: GenerationRequest,
  { injected, newId, created, delayMs, failureText }: Plan,
): PlannedResponse => {
  const fault = injected ?? faultOfModel(request.model) ?? faultOfPrompt(request);
  const generation = generate(request, {
    newCallId: () => `${callIdPrefix}${newId()}`,
    sign: (thinking) =>
      signsThinking ? Buffer.from(`signed ${thinking}`).toString('base64') : undefined,
  });
  return {
    ...{ protocol, request, fault },
    generation: fault?.kind === 'blank' ? { ...generation, blocks: [] } : generation,
    meta: {
      ...{ id: newId(), model: request.model, created, now: () => created },
      estimateInput: () => generation.usage?.inputTokens ?? 0,
    },
    failureText: failureText ?? 'Injected failure of the embedded upstream.',
    delayMs: fault?.kind === 'slow' ? fault.ms : delayMs,
  };
};

// --- how it is sent ---

/** Providers split arguments without regard to JSON; an odd length splits inside names and strings. */
const ARGUMENT_FRAGMENT = 7;

const headOf = (block: AnswerBlock): BlockHead => {
  if (block.type === 'tool-call') return { type: block.type, id: block.id, name: block.name };
  return block.type === 'native' ? block : { type: block.type };
};

const fragments = (text: string): string[] =>
  Array.from({ length: Math.ceil(text.length / ARGUMENT_FRAGMENT) }, (_, index) =>
    text.slice(index * ARGUMENT_FRAGMENT, (index + 1) * ARGUMENT_FRAGMENT),
  );

const deltasOf = (block: AnswerBlock): string[] => {
  if (block.type === 'native') return [];
  return block.type === 'tool-call' ? fragments(block.arguments) : words(block.text);
};

const eventsOfBlock = (block: AnswerBlock, index: number): GenerationEvent[] => {
  const signature = block.type === 'thinking' ? block.signature : undefined;
  return [
    { type: 'block-start', index, block: headOf(block) },
    ...deltasOf(block).map((delta): GenerationEvent => ({ type: 'block-delta', index, delta })),
    { type: 'block-end', index, ...(signature === undefined ? {} : { signature }) },
  ];
};

/** Events of a streamed response: text word by word, arguments in fragments. */
const eventsOf = ({ blocks, reason, usage }: Generation): GenerationEvent[] => [
  { type: 'start', ...(usage && { usage: { ...usage, outputTokens: 0 } }) },
  ...blocks.flatMap(eventsOfBlock),
  { type: 'finish', reason, usage },
];

/** Time for the router to read what was sent: a TCP reset discards bytes still in flight. */
const SETTLE_MS = 20;

const isByteByByte = (fault: Fault | undefined): boolean =>
  fault?.kind === 'stream' && fault.as === 'bytes';

const sendStream = async (planned: PlannedResponse, writer: ResponseWriter): Promise<void> => {
  const { fault } = planned;
  const encoder = planned.protocol.streamEncoder(planned.request, planned.meta);
  const complete = eventsOf(planned.generation);
  const events = fault?.kind === 'truncate' ? complete.slice(0, -1) : complete;
  const texts = events.flatMap((event) => encoder.push(event)).map(formatSse);
  const end = breakOffIndex(fault, texts.length);
  const chunks =
    fault?.kind === 'stream'
      ? STREAM_ODDITIES[fault.as](texts, planned.protocol.name)
      : texts.slice(0, end);
  writer.head(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  // A delay before every byte would stretch one sentence to a minute.
  const delayMs = isByteByByte(fault) ? 0 : planned.delayMs;
  for (const text of chunks) {
    await writer.wait(text === PAUSE ? SETTLE_MS : delayMs);
    await writer.write(text);
    if (writer.closed) return;
  }
  if (end === undefined) return writer.end();
  if (end > 0) await writer.wait(SETTLE_MS);
  await breakOff(fault, writer, planned);
};

const sendWhole = async (planned: PlannedResponse, writer: ResponseWriter): Promise<void> => {
  const { fault, generation, request, meta } = planned;
  const text = JSON.stringify(planned.protocol.encodeResponse(generation, request, meta));
  writer.head(200, { 'content-type': 'application/json' });
  await writer.wait(planned.delayMs);
  if (breakOffIndex(fault, 0) === undefined) return writer.end(text);
  await writer.write(text.slice(0, text.length / 2));
  await breakOff(fault, writer, planned);
};

/** Sends one response as its protocol defines it, or as its fault requires. */
export const sendResponse = async (planned: PlannedResponse, writer: ResponseWriter) => {
  if (await sendFault(planned.fault, writer, planned)) return;
  await (planned.request.stream ? sendStream(planned, writer) : sendWhole(planned, writer));
};
