import { expect, test } from 'vitest';
import { startLab } from '../support/fleet-lab.ts';
import { answer } from '../support/fleet-upstream.ts';
import { send } from '../support/send.ts';

const TRACE = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;

test.each([
  ['pass', TRACE],
  ['keep', undefined],
])(
  "the stage option traceparent=%s sends the caller's traceparent to the provider as %s, and the record keeps it",
  async (option, expected) => {
    const { fleet, primary } = await startLab([answer], { passesTraceparent: option === 'pass' });
    const authorization = `Bearer ${fleet.key}`;
    const ask = async (traceparent: string) => {
      const { headers } = await send(fleet.urls[0] ?? '', '/v1/chat/completions', {
        method: 'POST',
        headers: { authorization, traceparent },
        body: JSON.stringify({
          model: 'vendor/model',
          messages: [{ role: 'user', content: 'hi' }],
        }),
      });
      return String(headers['x-request-id']);
    };
    const kept = await ask(TRACE);
    await ask('tell me a story');
    expect(primary.seen.map(({ headers }) => headers.traceparent)).toEqual([expected, undefined]);
    const { text } = await send(fleet.urls[0] ?? '', `/v1/requests/${kept}`, {
      headers: { authorization },
    });
    expect(JSON.parse(text)).toMatchObject({ traceparent: TRACE });
  },
);
