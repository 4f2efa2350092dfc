import { asString, type Json } from '../bytes/json.ts';
import type { FinishReason, GenerationRequest } from '../generation.ts';
import { UpstreamError } from '../rejections/upstream-error.ts';
import { usesFunctions } from './functions.ts';

/** The values of the vendor and of compatible servers, in lower case. */
const UNIFIED = new Map<string, FinishReason['unified']>([
  ['stop', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['model_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
  ['content_filter', 'content-filter'],
  ['safety', 'content-filter'],
  ['sensitive', 'content-filter'],
  ['recitation', 'content-filter'],
  ['blocklist', 'content-filter'],
  ['prohibited_content', 'content-filter'],
  ['spii', 'content-filter'],
]);

/** The upstream failed; the content before it is not a response. */
const FAILURES = [
  'error',
  'abort',
  'network_error',
  'insufficient_system_resource',
  'malformed_function_call',
];

const WIRE: Record<FinishReason['unified'], string> = {
  stop: 'stop',
  'stop-sequence': 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
};

/** Some servers report the stop sequence that matched, under different names. */
const matchedStop = (choice: Json, request: GenerationRequest): string | undefined => {
  const stop = asString(choice.stop_reason) ?? asString(choice.matched_stop);
  return stop !== undefined && request.stop?.includes(stop) ? stop : undefined;
};

/**
 * The choice's finish reason; undefined if it has none yet (some upstreams send "" for null).
 * @throws UpstreamError when the reason is a failure of the upstream.
 */
export const decodeFinishReason = (
  choice: Json,
  request: GenerationRequest,
): FinishReason | undefined => {
  // Some servers append details after a colon.
  const word = asString(choice.finish_reason)?.toLowerCase().split(':')[0];
  if (word === undefined || word === '') return undefined;
  if (FAILURES.includes(word)) {
    throw new UpstreamError('error-event', `finish_reason is "${word}"`, { sent: choice });
  }
  const stopSequence = matchedStop(choice, request);
  if (word === 'stop' && stopSequence !== undefined) {
    return { unified: 'stop-sequence', stopSequence };
  }
  return { unified: UNIFIED.get(word) ?? 'stop' };
};

export const encodeFinishReason = ({ unified }: FinishReason, request: GenerationRequest) =>
  unified === 'tool-calls' && usesFunctions(request) ? 'function_call' : WIRE[unified];
