import type { FinishReason, GenerationEvent, GenerationRequest, Usage } from '../generation.ts';
import { asRecord, parseUpstreamJson, readJsonObject } from '../json.ts';
import type { StreamDecoder } from '../protocol.ts';
import { UpstreamError } from '../upstream-error.ts';
import { decodeFinishReason } from './finish-reason.ts';
import { createResponseFields } from './response-fields.ts';
import { assertNoError, createChoiceReader, firstChoice } from './stream-reader.ts';
import { readUsage } from './usage.ts';

/** @throws UpstreamError on `push` or `end` if the upstream fails, breaks its protocol or ends early. */
export const streamDecoder = (request: GenerationRequest): StreamDecoder => {
  const reader = createChoiceReader(request);
  let reason: FinishReason | undefined;
  let usage: Usage | undefined;
  const fields = createResponseFields();

  const conclude = (): GenerationEvent[] => {
    if (reader.writer.finished) return [];
    if (!reason) throw new UpstreamError('truncated', 'the stream ended without a finish_reason');
    reader.finish(fields.addTo(reason), usage);
    return reader.writer.drain();
  };

  return {
    get hasReason() {
      return reason !== undefined;
    },
    push: ({ data }) => {
      if (reader.writer.finished) return [];
      if (data.trim() === '[DONE]') return conclude();
      // Some upstreams keep the connection alive with empty events.
      if (data.trim() === '') return [];
      // After a finish_reason, a truncated chunk loses no content.
      const chunk = reason ? readJsonObject(data) : parseUpstreamJson(data);
      if (!chunk) return conclude();
      assertNoError(chunk);
      // Usage comes on a separate chunk, on the last one, or cumulatively on each: the last one counts.
      const choice = firstChoice(chunk);
      usage = readUsage(chunk, choice) ?? usage;
      const delta = asRecord(choice?.delta) ?? asRecord(choice?.message) ?? {};
      fields.add(chunk, delta);
      if (!choice) return [];
      reader.read(delta, choice.logprobs);
      // Not the end: usage may follow, and with some upstreams content.
      reason = decodeFinishReason(choice, request) ?? reason;
      return reader.writer.drain();
    },
    end: conclude,
  };
};
