/** The process in which caches.ts sends the same bodies to both sides by turns. Its stdout, the log, is discarded. */
import { eventOf, handlerOf, measure, type Stage } from './by-turns.ts';
import { shapeOf, WITH, WITHOUT } from './cache-cases.ts';
import { PAIRS } from './cases.ts';

const ROUNDS = 600;
const [, , key = '', file = '', rows = ''] = process.argv;
const handler = handlerOf(file);

const stages = [30, 400].flatMap((kilobytes) =>
  PAIRS.map(({ pair, caller, to, write }): Stage => {
    const sideOf = (side: typeof WITH) => {
      const model = shapeOf(side, to);
      const body = { model, max_tokens: 100, ...write(kilobytes * 1_000, model) };
      const headers = { authorization: `Bearer ${key}`, ...side.headers };
      const event = eventOf('POST', caller.path, { headers, body: JSON.stringify(body) });
      return { handler, event };
    };
    const batch = Math.ceil(150 / kilobytes);
    return { name: `${kilobytes} KB, ${pair}`, batch, sides: [sideOf(WITHOUT), sideOf(WITH)] };
  }),
);
const wanted = stages.filter(({ name }) => name.includes(rows));
process.send?.({ samples: await measure(wanted, ROUNDS) });
