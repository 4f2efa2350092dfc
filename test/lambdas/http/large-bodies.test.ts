import { describe, expect, test } from 'vitest';
import { MODEL_ON, post, useRouter } from '../../support/local.ts';
import { type Json, parseJson } from '../../support/sse-text.ts';

const router = useRouter();

const PATHS = { chat: '/v1/chat/completions', messages: '/v1/messages' } as const;
const CALLERS = ['chat', 'messages'] as const;

const textOf = (body: Json): unknown => {
  const [choice] = (body.choices as { message: { content: string } }[] | undefined) ?? [];
  const [block] = (body.content as { text: string }[] | undefined) ?? [];
  return choice?.message.content ?? block?.text;
};

// What precedes the text in the body decides on which unit of a pair a boundary falls.
const PREFIXES = ['', 'a'];

describe.each(CALLERS)('a whole response of the %s protocol over 16,384 UTF-16 units', (caller) => {
  const cells = CALLERS.flatMap((on) => PREFIXES.map((prefix) => ({ on, prefix })));

  test.each(cells)('every emoji from a $on upstream is kept after "$prefix"', async (cell) => {
    const text = `${cell.prefix}${'🙂'.repeat(20_000)}`;
    const response = await post(router(), PATHS[caller], {
      model: MODEL_ON[cell.on],
      max_tokens: 50_000,
      messages: [{ role: 'user', content: `say ${text}` }],
    });
    expect(response.status).toBe(200);
    const said = textOf(parseJson(await response.text()));
    expect(said === text, 'the text is unchanged').toBe(true);
  });
});
