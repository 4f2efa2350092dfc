import type { AdminClient } from './admin-client.ts';
import { plural, rowsIn } from './format.ts';

/** Shorter work shows nothing. */
const FIRST_MS = 1_000;
const LINE_MS = 5_000;
const WIDTH = 24;

const barOf = (done: number, total: number): string => {
  const full = Math.min(WIDTH, Math.round((WIDTH * done) / Math.max(1, total)));
  return `[${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}] ${done} of ${total}`;
};

export type Progress = {
  /** How many more responses, or other steps, there will be. @default unknown */
  expect(total: number): void;
  /** A step is done, with so many rows. */
  count(rows?: number): void;
  /** A client whose responses are counted: its rows, or itself where it has none. */
  watch(send: AdminClient): AdminClient;
  end(): void;
};

/** How far a command of many requests or steps is: a bar that is replaced on a terminal, a line each 5 s in a log. */
export const createProgress = (
  output: NodeJS.WritableStream & { isTTY?: boolean },
  now: () => number = () => performance.now(),
): Progress => {
  const isTerminal = output.isTTY === true;
  let next = now() + (isTerminal ? FIRST_MS : LINE_MS);
  let isShown = false;
  let total: number | undefined;
  let [responses, rows] = [0, 0];

  const show = () => {
    if (now() < next) return;
    const count = rows > 0 ? plural(rows, 'row') : plural(responses, 'response');
    const text = total === undefined ? count : barOf(responses, total);
    output.write(isTerminal ? `\r${text}\u001B[K` : `${text}\n`);
    isShown = true;
    if (!isTerminal) next = now() + LINE_MS;
  };

  const count = (more = 0) => {
    responses += 1;
    rows += more;
    show();
  };

  return {
    count,
    expect: (responsesToCome) => {
      total = responses + responsesToCome;
    },
    watch: (send) => async (request) => {
      const response = await send(request);
      count(rowsIn(response.data).length);
      return response;
    },
    end: () => {
      if (isTerminal && isShown) output.write('\r\u001B[K');
    },
  };
};
