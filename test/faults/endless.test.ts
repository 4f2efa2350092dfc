import { describe, expect, test } from 'vitest';
import { startLab } from '../support/fleet-lab.ts';
import { type Act, answer, begin } from '../support/fleet-upstream.ts';
import { readSse } from '../support/sse-text.ts';
import { chatWire } from '../support/translate.ts';

const chunk = (delta: object) =>
  chatWire([{ choices: [{ index: 0, delta, finish_reason: null }] }], '');
const argumentsOf = (text: string) => ({ index: 0, function: { arguments: text } });

const TEXT = chunk({ content: 'and so on '.repeat(20) });
const THINKING = chunk({ reasoning_content: 'what if '.repeat(20) });
const OPEN_TOOL = chunk({
  tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{"a":"' } }],
});
const TOOL = chunk({ tool_calls: [argumentsOf('and so on '.repeat(20))] });
const NOTHING = chunk({ role: 'assistant', content: '' });

/** Writes `opening` once and `part` without end, as fast as the router reads. */
const forever = (part: string, opening = '') => {
  let written = 0;
  const batch = part.repeat(Math.ceil(16_384 / part.length));
  const act: Act = (response) => {
    const write = () => {
      written += batch.length;
      return response.write(batch);
    };
    const pump = () => {
      while (write());
    };
    response.writeHead(200, { 'content-type': 'text/event-stream' }).on('drain', pump);
    if (opening !== '') response.write(opening);
    pump();
  };
  return { act, written: () => written };
};

const KINDS = [
  ['text', TEXT, ''],
  ['thinking', THINKING, ''],
  ['tool arguments', TOOL, OPEN_TOOL],
] as const;
const GRID = KINDS.flatMap(([name, part, opening]) =>
  [true, false].map((stream) => ({ name, part, opening, stream })),
);

describe('an answer without end', () => {
  test.each(GRID)(
    'endless $name is cut as at the token limit, streamed: $stream',
    async ({ part, opening, stream }) => {
      const { act, written } = forever(part, opening);
      const { askFor, fleet, primary, askAndHold, clock } = await startLab([act]);
      primary.act = begin;
      const bystander = await askAndHold();
      primary.act = act;
      const sent = await askFor({ stream, max_tokens: 100 });
      expect(sent.status).toBe(200);
      expect(sent.text).toContain('"finish_reason":"length"');
      if (stream) expect(readSse(sent.text).at(-1)?.data).toBe('[DONE]');
      const line = fleet.lines().findLast(({ event }) => event === 'request');
      expect(line).toMatchObject({ outcome: 'finished', cut: true });
      // The limit of 257,600 characters, JSON around them, and what the sockets buffer.
      expect(written()).toBeLessThan(8_000_000);
      await expect.poll(() => primary.sockets.size).toBe(1);
      expect(bystander.status).toBe(200);
      bystander.leave();
      await expect.poll(() => fleet.charged()).toBe(2);
      await expect.poll(() => clock.waits()).toEqual([]);
    },
  );

  test.each([true, false])(
    'an endless opening is left for the second target, streamed: %s',
    async (stream) => {
      const { askFor, fleet, primary } = await startLab([forever(NOTHING).act, answer]);
      const sent = await askFor({ stream, max_tokens: 100 });
      expect(sent.status).toBe(200);
      expect(sent.text).toContain('Hello');
      expect(await fleet.charged()).toBe(1);
      await expect.poll(() => primary.sockets.size).toBe(0);
    },
  );
});
