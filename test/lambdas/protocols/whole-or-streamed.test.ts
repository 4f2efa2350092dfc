import { describe, expect, test } from 'vitest';
import { readJsonObject } from '../../../lambdas/protocols/bytes/json.ts';
import type {
  AnswerBlock,
  Generation,
  GenerationEvent,
  GenerationRequest,
} from '../../../lambdas/protocols/generation.ts';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { collect } from '../../../lambdas/protocols/streams/collect.ts';
import { formatSse } from '../../../lambdas/protocols/streams/sse.ts';
import { createOriginTagger } from '../../../lambdas/protocols/thinking/origin.ts';
import { FAMILIES, type Family } from '../../support/families.ts';
import { type UpstreamCase, upstreamCases } from '../../support/golden.ts';
import { assertResponsesStream } from '../../support/responses-stream.ts';
import { readSse } from '../../support/sse-text.ts';
import { decode, LABEL, requestOf, wholeFor } from '../../support/translate.ts';

const MARK = 'eeeeeeeeeeee';

async function* once(events: GenerationEvent[]) {
  yield events;
}

/** A caller that asks the same question either way, usage included, and gives stop sequences if the case does. */
const requestFor = ({ read }: UpstreamCase, to: Family): GenerationRequest => {
  const { stop } = JSON.parse(read('request.json') ?? '{}');
  return to === 'chat'
    ? requestOf(to, { stream_options: { include_usage: true }, stop })
    : requestOf(to, { stop_sequences: stop });
};

/** What the caller reads when the answer comes as a stream, and when it comes in one piece. */
const readBoth = async (example: UpstreamCase, to: Family) => {
  const request = requestFor(example, to);
  const { from, input } = example;
  const { events, fault } = await decode(upstreamProtocols[from], input, request);
  if (fault) return undefined;
  const encoder = callerProtocols[to].streamEncoder(request, LABEL);
  const sealed = events.map(createOriginTagger(MARK));
  const stream = sealed.flatMap(encoder.push).map(formatSse).join('');
  const asked = { ...request, stream: false };
  const collected = (await decode(upstreamProtocols[from], input, asked)).events;
  const whole = JSON.parse(await wholeFor(to, collected.map(createOriginTagger(MARK)), asked));
  const streamed = (await decode(upstreamProtocols[to], stream, asked)).events;
  const read = upstreamProtocols[to].decodeResponse(whole, asked);
  return { streamed: await collect(once(streamed)), whole: await collect(once(read)) };
};

const proseOf = (blocks: AnswerBlock[], type: 'text' | 'thinking'): string =>
  blocks.map((block) => (block.type === type ? block.text : '')).join('');

/** The whole wire of messages has arguments as an object, `{}` for those that the token cap cut. */
const inObjects = (block: AnswerBlock) =>
  block.type === 'tool-call'
    ? { ...block, arguments: readJsonObject(block.arguments) ?? {} }
    : block.type === 'native'
      ? { ...block, value: { ...block.value, input: undefined } }
      : block;

/** Whole answers of chat have one text and one reasoning; the order of the parts is the stream's alone. */
const sum = ({ blocks, reason, usage }: Generation, to: Family) => ({
  reason,
  usage,
  blocks:
    to === 'messages'
      ? blocks.map(inObjects)
      : [
          proseOf(blocks, 'thinking'),
          proseOf(blocks, 'text'),
          ...blocks.filter(({ type }) => type === 'tool-call'),
        ],
});

const cases = upstreamCases('streams', 'sse');

describe.each(FAMILIES)('a caller of %s reads the same answer streamed and whole', (to) => {
  test.each(cases)('$name', async (example) => {
    const both = await readBoth(example, to);
    if (both) expect(sum(both.whole, to)).toEqual(sum(both.streamed, to));
  });
});

describe('a caller of responses reads the same response streamed and whole', () => {
  // One of its protocol gets the upstream's own.
  test.each(cases.filter(({ from }) => from !== 'responses'))('$name', async ({ from, input }) => {
    const request = requestOf('responses');
    const { events, fault } = await decode(upstreamProtocols[from], input, request);
    if (fault) return;
    const sealed = events.map(createOriginTagger(MARK));
    const { responses } = callerProtocols;
    const encoder = responses.streamEncoder(request, LABEL);
    const stream = sealed.flatMap(encoder.push).map(formatSse).join('');
    const whole = responses.encodeResponse(await collect(once(sealed)), request, LABEL);
    expect(assertResponsesStream(readSse(stream)).response).toEqual(whole);
  });
});
