import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sent } from '../support/send.ts';
import { parseJson } from '../support/sse-text.ts';
import { assertWellFormed } from '../support/translate.ts';
import { startPrefixBench } from './prefixes/bench.ts';
import { CELLS, type Cell, expectedOf, type Outcome, titleOf } from './prefixes/cells.ts';

let bench: Awaited<ReturnType<typeof startPrefixBench>>;
beforeAll(async () => {
  bench = await startPrefixBench(CELLS);
});
afterAll(() => bench.close());

const LIMITS = ['length', 'max_tokens', 'max_output_tokens'];

const kindOf = (text: string, finish: unknown): Outcome['kind'] => {
  if (LIMITS.includes(String(finish))) return 'cut answer';
  if (text === '') return 'empty answer';
  return text.includes('you') ? 'answer' : 'second answer';
};

/** Why a response of the Responses API is not complete. */
const reasonOf = (response: unknown): unknown =>
  (response as { incomplete_details?: { reason: string } }).incomplete_details?.reason;

const readStream = ({ caller, wire }: Cell, text: string): Outcome['kind'] => {
  const { isError, ...read } = assertWellFormed(caller, text, wire);
  if (isError) return 'error event';
  if ('text' in read) return kindOf(read.text, read.finish);
  const said = read.blocks.map((one) => one.text).join('');
  return kindOf(said, 'response' in read ? reasonOf(read.response) : read.stopReason);
};

const readWhole = ({ caller }: Cell, text: string): Outcome['kind'] => {
  const body = parseJson(text);
  if (caller === 'responses') {
    const [item] = body.output as { content: { text: string }[] }[];
    return kindOf(item?.content[0]?.text ?? '', reasonOf(body));
  }
  if (caller === 'chat') {
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
