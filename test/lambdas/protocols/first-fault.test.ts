import { expect, test } from 'vitest';
import { callerProtocols } from '../../../lambdas/protocols/protocols.ts';
import { errorOf } from '../../support/error-of.ts';

/** A part that tells when it is looked at. */
const watched = (seen: string[]) => ({
  get type() {
    seen.push('type');
    return 'text';
  },
  text: 'x',
});

const FAMILIES = ['chat', 'messages'] as const;

test.each(FAMILIES)(
  '%s: a list is not parsed after its first invalid item, as 100,000 of them would take seconds',
  async (family) => {
    const seen: string[] = [];
    const content = [{ type: 'text', text: 7 }, watched(seen)];
    const body = { model: 'vendor/model', max_tokens: 1, messages: [{ role: 'user', content }] };
    const refusal = await errorOf(() => callerProtocols[family].decodeRequest(body));
    expect(refusal).toMatchObject({ status: 400 });
    expect(refusal.message).toMatch(/^messages\.0\.content\.0\.text/);
    expect(seen).toEqual([]);
  },
);
