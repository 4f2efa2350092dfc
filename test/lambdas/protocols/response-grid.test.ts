import { describe, expect, test } from 'vitest';
import type { GenerationEvent } from '../../../lambdas/protocols/generation.ts';
import type { CallerProtocolName } from '../../../lambdas/protocols/protocol.ts';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { UpstreamError } from '../../../lambdas/protocols/rejections/upstream-error.ts';
import { collect, writeResponse } from '../../../lambdas/protocols/streams/collect.ts';
import { createOriginTagger } from '../../../lambdas/protocols/thinking/origin.ts';
import { ChatCompletion } from '../../support/chat-schema.ts';
import { CALLERS, toJsonText, type UpstreamCase, upstreamCases } from '../../support/golden.ts';
import { WholeMessage } from '../../support/messages-schema.ts';
import { EndedResponse } from '../../support/responses-schema.ts';
import { LABEL, requestOf } from '../../support/translate.ts';

const MARK = 'eeeeeeeeeeee';
const SCHEMA = { chat: ChatCompletion, messages: WholeMessage, responses: EndedResponse };

async function* once(events: GenerationEvent[]) {
  yield events;
}

/** The whole answer that a caller of `to` reads, or the kind of fault that it never sees. */
const answer = async ({ from, input }: UpstreamCase, to: CallerProtocolName): Promise<object> => {
  const request = requestOf(to, { stream: false });
  try {
    const events = upstreamProtocols[from].decodeResponse(JSON.parse(input), request, input);
    const generation = await collect(once(events.map(createOriginTagger(MARK))));
    return JSON.parse(writeResponse(callerProtocols[to], generation, { request, meta: LABEL }));
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    return { fault: error.kind };
  }
};

const cases = upstreamCases('responses', 'json');

test('the grid of whole answers is as large as it was', () => {
  expect(cases.length).toBeGreaterThanOrEqual(30);
});

describe.each(CALLERS)('a whole answer as a caller of %s reads it', (to) => {
  test.each(cases)('$name', async (example) => {
    const told = await answer(example, to);
    example.expectGolden(`for-${to}.json`, toJsonText(told));
    // What a vendor adds is kept.
    if ('fault' in told || (to === 'responses' && example.from === to)) return;
    expect(SCHEMA[to].safeParse(told).error).toBeUndefined();
  });
});
