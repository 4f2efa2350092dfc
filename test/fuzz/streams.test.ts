import { expect, test } from 'vitest';
import { CALLER_PROTOCOLS } from '../../lambdas/protocols/protocol-name.ts';
import { upstreamProtocols } from '../../lambdas/protocols/protocols.ts';
import { UpstreamError } from '../../lambdas/protocols/rejections/upstream-error.ts';
import { ChatCompletion } from '../support/chat-schema.ts';
import { WholeMessage } from '../support/messages-schema.ts';
import { EndedResponse } from '../support/responses-schema.ts';
import { fc } from '../support/seeds.ts';
import { assertWellFormed, requestOf, translate, wholeFor } from '../support/translate.ts';
import { responseSamples, streamSamples } from './corpus.ts';
import { fuzz, timeoutOf } from './fuzz.ts';
import { byteMutation, mutateBytes, splits } from './mutate-bytes.ts';
import { jsonMutation, mutateJson } from './mutate-json.ts';
import {
  eventMutations,
  familyFor,
  mutateEvents,
  pick,
  some,
  withKnownStops,
} from './wire-inputs.ts';

const SHARE = 0.1;
const MAX_CHUNKS = 2_000;

const family = fc.constantFrom(...CALLER_PROTOCOLS);

test(
  'a mutated upstream stream reaches the caller as a well-formed stream or an error',
  async ({ annotate }) => {
    const endings = { good: 0, error: 0 };
    await fuzz({
      share: SHARE,
      input: fc.record({
        sample: pick(streamSamples),
        to: family,
        events: some(7, eventMutations),
        bytes: some(4, byteMutation),
        sizes: splits.map((places) => places.map((place) => 1 + (place % 97))),
      }),
      make: ({ sample, to, events, bytes, sizes }) => {
        const text = mutateEvents(sample.of.text, events);
        const wire = withKnownStops(mutateBytes(Buffer.from(text), bytes));
        // Chunks that come without a wait between them are one turn: there must not be 100,000.
        const least = wire.length / MAX_CHUNKS;
        return {
          from: sample.of.wire,
          to: familyFor(sample.of, to),
          wire,
          sizes: sizes.map((size) => Math.ceil(Math.max(size, least))),
        };
      },
      act: ({ from, to, wire, sizes }) => translate(from, to, wire, { sizes }),
      check: (told, { to }) => {
        const { isError } = assertWellFormed(to, told);
        endings[isError ? 'error' : 'good'] += 1;
      },
      show: ({ from, to, wire }) =>
        `${from} to ${to}\n${Buffer.from(wire).toString('latin1').slice(0, 4_000)}`,
      annotate,
    });
    await annotate(JSON.stringify(endings));
    expect(endings.good).toBeGreaterThan(0);
    expect(endings.error).toBeGreaterThan(0);
  },
  timeoutOf(SHARE),
);

const WHOLE = { chat: ChatCompletion, messages: WholeMessage, responses: EndedResponse };

test(
  'a mutated whole response reaches the caller as a whole response or an error',
  async ({ annotate }) => {
    const endings = { good: 0, error: 0 };
    await fuzz({
      share: SHARE / 2,
      input: fc.record({
        sample: pick(responseSamples),
        to: family,
        json: fc.array(jsonMutation, { maxLength: 4 }),
      }),
      make: ({ sample, to, json }) => ({
        from: sample.of.wire,
        to: familyFor(sample.of, to),
        text: Buffer.from(withKnownStops(Buffer.from(mutateJson(sample.of.text, json)))).toString(),
      }),
      act: async ({ from, to, text }) => {
        const request = requestOf(to, { stream: false });
        try {
          const events = upstreamProtocols[from].decodeResponse(JSON.parse(text), request);
          return JSON.parse(await wholeFor(to, events, request));
        } catch (error) {
          if (error instanceof UpstreamError) return undefined;
          throw error;
        }
      },
      check: (body, { to }) => {
        endings[body ? 'good' : 'error'] += 1;
        if (body) expect(WHOLE[to].safeParse(body).error, JSON.stringify(body)).toBeUndefined();
      },
      show: ({ from, to, text }) => `${from} to ${to}\n${text}`,
      annotate,
    });
    await annotate(JSON.stringify(endings));
    expect(endings.good).toBeGreaterThan(0);
    expect(endings.error).toBeGreaterThan(0);
  },
  timeoutOf(SHARE / 2),
);
