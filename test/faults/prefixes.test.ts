import { afterAll, beforeAll, expect, test } from 'vitest';
import { assertChatStream } from '../support/chat-stream.ts';
import { assertMessagesStream } from '../support/messages-stream.ts';
import type { Sent } from '../support/send.ts';
import { parseJson, readSse } from '../support/sse-text.ts';
import { startPrefixBench } from './prefixes/bench.ts';
import { CELLS, type Cell, expectedOf, type Outcome, titleOf } from './prefixes/cells.ts';

let bench: Awaited<ReturnType<typeof startPrefixBench>>;
beforeAll(async () => {
  bench = await startPrefixBench(CELLS);
});
afterAll(() => bench.close());

const LIMITS = ['length', 'max_tokens'];

const kindOf = (text: string, finish: unknown): Outcome['kind'] => {
  if (LIMITS.includes(String(finish))) return 'cut answer';
  if (text === '') return 'empty answer';
  return text.includes('you') ? 'answer' : 'second answer';
};

const readStream = ({ wire }: Cell, text: string): Outcome['kind'] => {
  if (wire === 'chat') {
    const { isError, finish, text: said } = assertChatStream(readSse(text));
    return isError ? 'error event' : kindOf(said, finish);
  }
  const { isError, stopReason, blocks } = assertMessagesStream(readSse(text));
  return isError ? 'error event' : kindOf(blocks.map((one) => one.text).join(''), stopReason);
};

const readWhole = ({ wire }: Cell, text: string): Outcome['kind'] => {
  const body = parseJson(text);
  if (wire === 'chat') {
    const [choice] = body.choices as { message: { content: string }; finish_reason: string }[];
    return kindOf(choice?.message.content ?? '', choice?.finish_reason);
  }
  const [block] = body.content as { text: string }[];
  return kindOf(block?.text ?? '', body.stop_reason);
};

const outcomeOf = (cell: Cell, { status, text }: Sent): Outcome['kind'] => {
  if (status !== 200) return 'status';
  return cell.stream ? readStream(cell, text) : readWhole(cell, text);
};

test.each(CELLS.map((cell) => [titleOf(cell), cell] as const))(
  'an upstream that stops mid-way leads to the documented response in the documented time. %s',
  async (_, cell) => {
    const { sent, afterMs, charged } = await bench.run(cell);
    const got: Outcome = { kind: outcomeOf(cell, sent), status: sent.status, charged, afterMs };
    expect(got, sent.text).toEqual(expectedOf(cell));
  },
);
