import { describe, expect, test } from 'vitest';
import { spliceText } from '../../../lambdas/protocols/bytes/splice.ts';
import { assertConsistent } from '../../../lambdas/protocols/ledger/assert-consistent.ts';
import { callerProtocols, upstreamProtocols } from '../../../lambdas/protocols/protocols.ts';
import { stripForeignThinking } from '../../../lambdas/protocols/thinking/origin.ts';
import { ApiError } from '../../../lambdas/support/errors.ts';
import { isRecord } from '../../../lambdas/support/objects.ts';
import { SHARED } from '../../support/families.ts';
import { type Case, requestCases, toJsonText, UPSTREAMS } from '../../support/golden.ts';
import type { Wire } from '../../support/wires.ts';

const TARGET = { model: 'upstream-model', maxOutputTokens: 64_000 };
/** What marks the thinking of the upstreams in the fixtures. */
const MARKS = {
  chat: 'cccccccccccc',
  messages: 'dddddddddddd',
  responses: 'ffffffffffff',
  gemini: 'gggggggggggg',
};

/** The target of the case: what is special about its upstream stands in a file of its own. */
const targetOf = ({ read }: Case) => ({ ...TARGET, ...JSON.parse(read('target.json') ?? '{}') });

/** What an upstream of `to` is sent, or why it is sent nothing. */
const send = (example: Case, to: Wire): unknown => {
  const { from, input } = example;
  try {
    const received = JSON.parse(input);
    const request = callerProtocols[from].decodeRequest(received);
    assertConsistent(request);
    const cannotSay = upstreamProtocols[to].cannotSay(request);
    if (cannotSay.length > 0) return { cannotSay };
    const own = stripForeignThinking(request, MARKS[to]);
    const target = targetOf(example);
    const edits = upstreamProtocols[to].editsOf?.(own, target, received);
    return edits
      ? JSON.parse(spliceText(input, edits))
      : upstreamProtocols[to].encodeRequest(own, target);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { status, type, message, param } = error;
    return { refused: { status, type, message, param } };
  }
};

const cases = requestCases();

test('the grid of requests is as large as it was', () => {
  expect(cases.length).toBeGreaterThanOrEqual(150);
  const ofResponses = cases.filter(({ from }) => from === 'responses');
  expect(ofResponses.length).toBeGreaterThanOrEqual(60);
});

describe.each(UPSTREAMS)('a request for an upstream of %s', (to) => {
  test.each(cases)('$name', (example) => {
    const sent = send(example, to);
    example.expectGolden(`to-${to}.json`, toJsonText(sent));
    const own = SHARED.find((name) => name === to);
    if (own && isRecord(sent) && 'model' in sent) {
      // What goes out is what the protocol itself would take in.
      const again = callerProtocols[own].decodeRequest(sent);
      if (example.from === to) {
        expect(upstreamProtocols[to].editsOf?.(again, targetOf(example), sent)).toEqual([]);
      } else expect(upstreamProtocols[to].encodeRequest(again, targetOf(example))).toEqual(sent);
    }
  });
});
