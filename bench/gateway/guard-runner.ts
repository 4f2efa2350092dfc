/**
 * The process in which guard.ts compares two bundles: loads both, sends the same events to each by turns, and
 * reports the CPU of each batch. Its stdout, the log of both, is discarded.
 */
import { readFileSync } from 'node:fs';
import { eventOf, handlerOf, measure, type Stage } from './by-turns.ts';
import { CASES } from './cases.ts';

const ROUNDS = 12;
const [, , key = '', catalog = '', one = '', other = ''] = process.argv;
const models = readFileSync(catalog, 'utf8');

const headers = { authorization: `Bearer ${key}` };
const agent = CASES.find(({ name }) => name === 'agent body 29 KB, translated');

/** From the shortest way through the router to the longest: the first row that grew names the stage. */
const STAGES = [
  {
    name: 'key and plan (GET /v1/models)',
    batch: 100,
    event: eventOf('GET', '/v1/models', { headers }),
  },
  {
    name: 'decoding and estimate (count_tokens, 29 KB)',
    batch: 20,
    event: eventOf('POST', '/v1/messages/count_tokens', { headers, body: agent?.body ?? '' }),
  },
  ...CASES.filter(({ body }) => models.includes(`"${JSON.parse(body).model}"`)).map(
    ({ name, path, body, events }) => ({
      name: `generation: ${name}`,
      batch: Math.max(1, Math.min(20, Math.floor(1_000 / events), Math.floor(1e6 / body.length))),
      event: eventOf('POST', path, { headers, body }),
    }),
  ),
];

const handlers = [handlerOf(one), handlerOf(other)] as const;
const stages = STAGES.map(
  ({ event, ...stage }): Stage => ({
    ...stage,
    sides: [
      { handler: handlers[0], event },
      { handler: handlers[1], event },
    ],
  }),
);
process.send?.({ samples: await measure(stages, ROUNDS) });
