import { expect, test } from 'vitest';
import { CALLER_PROTOCOLS } from '../../../lambdas/protocols/protocol-name.ts';
import { callerProtocols } from '../../../lambdas/protocols/protocols.ts';
import { errorOf } from '../../support/error-of.ts';
import { conversationOf } from '../../support/request-forms.ts';

/** A part that tells when it is looked at. */
const watched = (seen: string[]) => ({
  get type() {
    seen.push('type');
    return 'text';
  },
  text: 'x',
});

test.each(CALLER_PROTOCOLS)(
  '%s: a list is not parsed after its first invalid item, as 100,000 of them would take seconds',
  async (family) => {
    const seen: string[] = [];
    const content = [{ type: 'text', text: 7 }, watched(seen)];
    const body = { model: 'vendor/model', ...conversationOf(family, [{ role: 'user', content }]) };
    const refusal = await errorOf(() => callerProtocols[family].decodeRequest(body));
    expect(refusal).toMatchObject({ status: 400 });
    expect(refusal.message).toMatch(/^(?:messages|input)\.0\.content\.0\.text/);
    expect(seen).toEqual([]);
  },
);
