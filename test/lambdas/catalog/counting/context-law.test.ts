import { describe, expect, test } from 'vitest';
import { assertFits } from '../../../../lambdas/catalog/capabilities.ts';
import { leastInputTokens } from '../../../../lambdas/catalog/estimate-tokens.ts';
import { partsOf } from '../../../../lambdas/catalog/request-parts.ts';
import { callerProtocols } from '../../../../lambdas/protocols/protocols.ts';
import { createCountingClock } from '../../../support/counting-clock.ts';
import { startFleet } from '../../../support/fleet.ts';
import { answer, startUpstream } from '../../../support/fleet-upstream.ts';
import { modelOn, targetAt } from '../../../support/models.ts';
import { checksAll } from '../../../support/seeds.ts';
import { send } from '../../../support/send.ts';
import { readRequests } from './checking-texts.ts';
import { readKinds } from './kinds.ts';
import { bodyOf, digestOf, readTrueCounts, trueCountsOf } from './score.ts';

type Prompt = { kind: string; body: Record<string, unknown>; tokens: number };

/** A prompt of each text and tokenizer, as large as that tokenizer counts it. */
const textPrompts = (): Prompt[] => {
  const { kinds, tokenizers } = readTrueCounts();
  return readKinds().flatMap(({ kind, text }) =>
    (kinds[digestOf(text)] ?? []).map((tokens, index) => ({
      kind: `${kind}, ${text.length} characters, ${tokenizers[index]}`,
      body: { model: 'vendor/model', messages: [{ role: 'user', content: text }] },
      tokens,
    })),
  );
};

/** Agents' requests, as large as each vendor's template and tokenizer count them. */
const agentPrompts = (): Prompt[] =>
  readRequests().flatMap((body, request) =>
    Object.entries(trueCountsOf(body) ?? {}).map(([family, tokens]) => ({
      kind: `request ${request}, ${family}`,
      body: bodyOf(body),
      tokens,
    })),
  );

const isRejected = ({ body, tokens }: Prompt, times: number): boolean => {
  const request = callerProtocols.chat.decodeRequest(body);
  const parts = partsOf(request);
  const count = {
    bodyBytes: Buffer.byteLength(JSON.stringify(body)),
    parts: () => parts,
    least: () => leastInputTokens(parts, 'model'),
    estimate: () => tokens,
  };
  try {
    assertFits({ context_length: Math.ceil(tokens / times) }, request, count);
    return false;
  } catch {
    return true;
  }
};

const TOKENIZERS = readTrueCounts().tokenizers.length;
const FAMILIES = 11;
const texts = textPrompts();
const requests = agentPrompts();
const prompts = [...texts, ...requests];
const rejected = (among: Prompt[], times: number): string[] =>
  among.flatMap((prompt) => (isRejected(prompt, times) ? [prompt.kind] : []));

/** Of so many tokenizers each text or request for one, by turns; of the texts and requests a sixth, but in a run of all. */
const inTurns = (among: Prompt[], tokenizers: number): Prompt[] =>
  among
    .filter((_, index) => index % tokenizers === Math.floor(index / tokenizers) % tokenizers)
    .filter((_, index) => checksAll || index % 6 === 0);

describe('the gate of the context, on prompts whose tokens are known', () => {
  test('there are 2,500 prompts, of 12 tokenizers and 120 kinds of text', () => {
    // Fewer: a package has other texts now. docs/decisions/0005-token-estimate.md says how to count them again.
    expect(prompts.length).toBeGreaterThanOrEqual(2_500);
  });

  test('no prompt that fills its context is rejected, of any kind and for any tokenizer', () => {
    expect(rejected(prompts, 1)).toEqual([]);
  });

  test('four in five prompts of twice the context are rejected before a provider is called', () => {
    expect(rejected(requests, 2).length / requests.length).toBeGreaterThanOrEqual(0.8);
    expect(rejected(texts, 2).length / texts.length).toBeGreaterThanOrEqual(0.8);
  });

  test('over HTTP, a prompt that fills its context reaches the provider, and four in five of twice the context do not', async () => {
    const sent = [...inTurns(texts, TOKENIZERS), ...inTurns(requests, FAMILIES)];
    const upstream = await startUpstream(answer);
    const modelOf = (times: number) => (prompt: Prompt, index: number) =>
      modelOn([targetAt(upstream.url)], {
        id: `times-${times}/${index}`,
        context_length: Math.ceil(prompt.tokens / times),
      });
    const fleet = await startFleet({
      models: [...sent.map(modelOf(1)), ...sent.map(modelOf(2))],
      clock: createCountingClock(Date.UTC(2026, 10, 28, 12)),
    });
    const statusesAt = (times: number) =>
      Promise.all(
        sent.map(({ body }, index) =>
          send(fleet.urls[0] ?? '', '/v1/chat/completions', {
            method: 'POST',
            headers: { authorization: `Bearer ${fleet.key}` },
            body: JSON.stringify({ ...body, model: `times-${times}/${index}` }),
          }).then(({ status }) => status),
        ),
      );
    try {
      const full = await statusesAt(1);
      expect(sent.filter((_, index) => full[index] !== 200).map(({ kind }) => kind)).toEqual([]);
      expect(upstream.attempts).toBe(sent.length);
      const twice = await statusesAt(2);
      const refused = twice.filter((status) => status === 400).length;
      expect(refused / sent.length).toBeGreaterThanOrEqual(0.8);
      expect(upstream.attempts).toBe(2 * sent.length - refused);
    } finally {
      await fleet.close();
      await upstream.close();
    }
  });
});
