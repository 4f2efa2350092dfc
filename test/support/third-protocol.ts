import { asRecord, asString, parseUpstreamJson } from '../../lambdas/protocols/bytes/json.ts';
import type { UpstreamProtocol } from '../../lambdas/protocols/protocol.ts';
import { UpstreamError } from '../../lambdas/protocols/rejections/upstream-error.ts';
import { createEventWriter } from '../../lambdas/protocols/streams/event-writer.ts';

const streamDecoder: UpstreamProtocol['streamDecoder'] = () => {
  const writer = createEventWriter({ mayBeEmpty: true });
  const push = ({ data }: { data: string }) => {
    if (writer.isFinished()) return [];
    const { text, end } = parseUpstreamJson(data);
    if (!writer.isOpen('text')) writer.open('text', { type: 'text' });
    writer.delta('text', asString(text) ?? '');
    if (end === true) writer.finish({ unified: 'stop' }, undefined);
    return writer.drain();
  };
  const end = () => {
    if (!writer.isFinished())
      throw new UpstreamError('truncated', 'the stream ended without `end`');
    return [];
  };
  return { push, end, hasReason: () => false, known: {} };
};

/**
 * An upstream protocol that no caller uses and only tests know: the model is in its path, it has no tools and no limit on
 * stop sequences.
 */
export const thirdProtocol: UpstreamProtocol = {
  path: ({ model }) => `/models/${encodeURIComponent(model)}/generate`,
  credentialHeader: 'x-key',
  losses: () => [],
  cannotSay: ({ tools }) => (tools ? ['tools'] : []),
  encodeRequest: ({ turns, stop, maxTokens }, { maxOutputTokens }) => ({
    input: turns.map(({ role, blocks }) => ({ role, blocks })),
    limit: maxTokens ?? maxOutputTokens,
    stop: stop ?? [],
  }),
  decodeResponse: (body, request) =>
    streamDecoder(request).push({ data: JSON.stringify({ ...asRecord(body), end: true }) }),
  usageIn: () => undefined,
  streamDecoder,
};
