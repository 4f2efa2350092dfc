import { expect, test } from 'vitest';
import { useRouter } from '../support/local.ts';
import { CALLERS } from './callers.ts';

const router = useRouter({ delayMs: 2 });
const PROMPT = `say ${'One two three, naïve 𝄞 words. '.repeat(40)}`;

/** Asks with the encodings that the SDK's own fetch accepts, or with none. */
const ask = async (caller: (typeof CALLERS)[number], encoding?: string) => {
  const { baseUrl, key } = router();
  const encodings: (string | null)[] = [];
  const pieces: string[] = [];
  const answer = await caller.stream(
    {
      baseUrl,
      key,
      fetch: async (input, init) => {
        const headers = new Headers(init?.headers);
        if (encoding !== undefined) headers.set('accept-encoding', encoding);
        const response = await fetch(input, { ...init, headers });
        encodings.push(response.headers.get('content-encoding'));
        return response;
      },
    },
    { model: 'aurora/scribe-1', prompt: PROMPT },
    (piece) => pieces.push(piece),
  );
  return { answer, pieces, encodings };
};

test.each(CALLERS)(
  '$name reads a compressed stream piece by piece as one without compression',
  async (caller) => {
    const compressed = await ask(caller);
    const plain = await ask(caller, 'identity');
    expect([compressed.encodings, plain.encodings]).toEqual([['gzip'], [null]]);
    expect(compressed.answer).toBe(PROMPT.slice('say '.length));
    expect(compressed.pieces).toEqual(plain.pieces);
    expect(compressed.pieces.length).toBeGreaterThan(100);
  },
);
