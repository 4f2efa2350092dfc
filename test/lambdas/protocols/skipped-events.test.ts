import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { streamedResponses } from '../../support/strict-upstream/responses-response.ts';
import type { Meant } from '../../support/strict-upstream/wire-response.ts';
import { assertWellFormed, translate } from '../../support/translate.ts';

/** Servers of the Responses API leave out events that repeat what others say; official clients need them. */
const MEANT: Meant = {
  ...{ thinking: { text: 'Hm.', signature: 's' }, text: 'Hello you', finish: 'tool-calls' },
  calls: [1, 2].map((at) => ({ id: `call_${at}`, name: 'read', arguments: `{"a":${at}}` })),
  usage: { input: 7, cached: 2, output: 3 },
};
const EVENTS = streamedResponses(MEANT, { isWhole: false, isAscii: false, units: [4] })
  .split('\n\n')
  .filter(Boolean);
const nameOf = (event: string) => /^event: response\.(\S+)/.exec(event)?.[1] ?? '';

const readAs = async (to: 'chat' | 'messages' | 'responses', events: string[]) => {
  const wire = events.map((event) => `${event}\n\n`).join('');
  const read = assertWellFormed(to, await translate('responses', to, wire), 'responses');
  return { isError: read.isError, told: 'response' in read ? read.response : read };
};

const isText = (event: string): boolean => /\.delta$/.test(nameOf(event));

/** Streams without an event that repeats others, or without all of a kind. */
const SKIPS: [what: string, events: string[]][] = [
  ...EVENTS.flatMap((event, at): [string, string[]][] =>
    isText(event) || at === EVENTS.length - 1
      ? []
      : [[`${nameOf(event)}, the event ${at}`, EVENTS.toSpliced(at, 1)]],
  ),
  ...['created', 'in_progress', 'added', 'delta', 'done'].map((end): [string, string[]] => [
    `every ${end}`,
    EVENTS.filter((event) => !nameOf(event).endsWith(end)),
  ]),
];
/** A call is announced, or it has neither a name nor an id until it is done. */
const NAMELESS = /^output_item\.added, the event (?:1[6-9]|2\d)|^every added/;

test.each(['chat', 'messages', 'responses'] as const)(
  'a stream of a responses upstream that leaves out events is a whole response for a %s caller, or ends with an error',
  async (to) => {
    const whole = await readAs(to, EVENTS);
    expect(whole.isError).toBe(false);
    const errors: string[] = [];
    for (const [what, events] of SKIPS) {
      const read = await readAs(to, events);
      if (read.isError) errors.push(what);
      else expect(read.told, what).toEqual(whole.told);
    }
    expect(errors.filter((what) => !NAMELESS.test(what))).toEqual([]);
    expect(errors.length).toBeLessThan(4);
  },
);

test('items of a responses upstream that are out of order end the stream for a responses caller with an error', async () => {
  const at = EVENTS.findIndex((event) => nameOf(event) === 'output_item.added');
  const late = [...EVENTS.toSpliced(at, 1), EVENTS[at] ?? ''];
  expect((await readAs('responses', late)).isError).toBe(false);
  const [first = '', second = ''] = EVENTS.filter((event) => nameOf(event) === 'output_item.done');
  const swapped = EVENTS.map((event) =>
    event === first ? second : event === second ? first : event,
  );
  expect((await readAs('responses', swapped)).isError).toBe(true);
});

test('the OpenAI SDK adds up items of a responses upstream that are announced without the list of their parts', async () => {
  const bare = EVENTS.map((event) =>
    nameOf(event) === 'output_item.added'
      ? event.replace(/,"(?:content|summary)":\[\]/, '')
      : event,
  );
  expect(bare).not.toEqual(EVENTS);
  const read = async (events: string[]) => {
    const wire = events.map((event) => `${event}\n\n`).join('');
    const text = await translate('responses', 'responses', wire);
    const headers = { 'content-type': 'text/event-stream' };
    const fetch = async () => new Response(text, { headers });
    const client = new OpenAI({ apiKey: 'key', maxRetries: 0, fetch });
    return client.responses.stream({ model: 'm', input: 'hi' }).finalResponse();
  };
  expect(await read(bare)).toEqual(await read(EVENTS));
});
