import { describe, expect, test } from 'vitest';
import { type Bodies, createBodyCache, type Overlap } from '../../../lambdas/http/body-cache.ts';
import { parseJsonObject } from '../../../lambdas/http/read-body.ts';
import { set, splice } from '../../../lambdas/protocols/bytes/splice.ts';
import { ApiError } from '../../../lambdas/support/errors.ts';
import { fc, share } from '../../support/seeds.ts';

const object = (count: number) => `{${Array.from({ length: count }, (_, at) => `"${at}":":"`)}}`;

const members = (count: number) => `{"a":[${object(count)},{"b":1}]}`;

const elements = (count: number) => `{"a":[${'0,'.repeat(count)}0]}`;

const levels = (count: number) => `{"a":${'['.repeat(count - 1)}${']'.repeat(count - 1)}}`;

const read = (text: string) => parseJsonObject(text, text.length).value;

describe('a body', () => {
  test.each([
    ['arrays', '['],
    ['objects', '{"a":'],
  ])('a million nested %s are refused without a stack overflow', (_, opening) => {
    expect(() => read(`{"a":${opening.repeat(1_000_000)}`)).toThrow(ApiError);
  });

  test('64 levels are taken, one more is refused', () => {
    expect(read(levels(64))).toHaveProperty('a');
    expect(() => read(levels(65))).toThrow('nested deeper than 64 levels');
    expect(() => read(levels(100_000))).toThrow('nested deeper than 64 levels');
  });

  test('an object of 10,000 members is taken', () => {
    expect(read(members(10_000))).toHaveProperty('a.1.b', 1);
  });

  test('an object of one more is refused', () => {
    expect(() => read(members(10_001))).toThrow('an object of more than 10,000 members');
  });

  test('a body of 90,000 values is accepted', () => {
    expect(read(elements(90_000))).toHaveProperty('a.length', 90_001);
  });

  test.each([
    ['elements of one array', elements(100_000)],
    ['members of many objects', `{"a":[${`${object(9_999)},`.repeat(11)}0]}`],
    ['empty objects', `{"a":[${'{},'.repeat(100_000)}0]}`],
  ])('more than 100,000 values are rejected: %s', (_, text) => {
    expect(() => read(text)).toThrow('more than 100,000 values');
  });
});

test('five megabytes of backslashes and quotes are taken as they are', () => {
  const text = JSON.stringify({ a: '\\"'.repeat(1_250_000) });
  expect(read(text)).toEqual({ a: '\\"'.repeat(1_250_000) });
});

test('a refusal carries nothing of the input, not even privately', () => {
  expect(() => read('{"prompt":"canary",}')).toThrow(
    expect.objectContaining({ message: 'The request body is not valid JSON.', cause: undefined }),
  );
});

/** What is read of a body and what an edit of it gives, or why it is refused. */
const outcomeOf = (raw: string | Buffer, bodies?: Bodies): unknown => {
  try {
    const source = parseJsonObject(raw, raw.length, { bodies: bodies && (() => bodies) });
    const edited = splice(source, [set(['messages', 1, 'b'], 'ö'), set(['added'], 1)]);
    const sent = Array.isArray(edited) ? Buffer.concat(edited).toString() : edited.toString();
    const { value, nodes, removed } = source;
    return { value: JSON.stringify(value), removed, sent, count: nodes.length };
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
};

/** Strings of all lengths and escapes, some of which cross the places where a large body is read in parts. */
const text = fc
  .array(
    fc.constantFrom(
      'a',
      'é',
      '𝄞',
      '"',
      '\\',
      '\\"',
      '{',
      ']',
      'x'.repeat(3_000),
      'ü'.repeat(21_000),
    ),
    { maxLength: 9 },
  )
  .map((parts) => parts.join(''));
const message = fc.oneof(
  fc.record({ a: text, b: text, c: fc.jsonValue() }, { requiredKeys: ['b'] }),
  fc.constantFrom({}, 1.5, null, 'a', []),
);
const large = fc
  .record({ system: text, messages: fc.array(message, { minLength: 2, maxLength: 12 }), n: text })
  .map((body) => JSON.stringify(body).replace('1.5', '18446744073709551616'));
/** A place of a text, where signs replace as many as `gone`. */
const damage = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  gone: fc.integer({ min: 0, max: 2 }),
  signs: fc.constantFrom('', '{}', '[', ']', '}', ',', '"', '1', ':', ',"messages":[{}]', ' \n'),
});

type Damage = { at: number; gone: number; signs: string };

const damagedBy = (whole: string, { at, gone, signs }: Damage): string => {
  const place = Math.floor(at * whole.length);
  // Bytes cannot hold half of a pair.
  return (whole.slice(0, place) + signs + whole.slice(place + gone)).toWellFormed();
};

test('a body is read, edited and refused alike as bytes and as text, whole and damaged', () => {
  const seen = { read: 0, refused: 0 };
  fc.assert(
    fc.property(large, fc.option(damage), (whole, damaged) => {
      const body = damaged ? damagedBy(whole, damaged) : whole;
      const expected = outcomeOf(body);
      expect(outcomeOf(Buffer.from(body))).toEqual(expected);
      seen[typeof expected === 'string' ? 'refused' : 'read'] += 1;
    }),
    { numRuns: share(400, 5), seed: 31 },
  );
  expect(Math.min(seen.read, seen.refused)).toBeGreaterThan(share(50, 5));
});

/** Bodies of a session, each with more items in its list than the one before, and members in front of it and behind it. */
const session = fc
  .record({
    before: fc.dictionary(fc.constantFrom('system', 'a', '0', 'tools', 'ä"'), fc.jsonValue()),
    name: fc.constantFrom('messages', 'input', 'größe"', '1', 'tools'),
    items: fc.array(message, { minLength: 4, maxLength: 16 }),
    behind: fc.dictionary(fc.constantFrom('system', 'tools', 'stop', '2'), fc.jsonValue()),
    step: fc.integer({ min: 1, max: 4 }),
    space: fc.constantFrom('', ' ', '\n'),
    shares: fc.constantFrom([20, 0], [0, 20], [1, 19], [19, 1]),
  })
  .map(({ before, name, items, behind, step, space, shares }) =>
    Array.from({ length: Math.ceil(items.length / step) }, (_, index) => {
      const list = items.slice(0, (index + 1) * step);
      const [front, back] = shares.map((share) => 'ü'.repeat(1_000 * share));
      const end = { padding: back, big: [{ id: 1.5 }], ...behind };
      const body = { ...before, padded: front, [name]: list, n: index, ...end };
      const text = space ? JSON.stringify(body, undefined, space) : JSON.stringify(body);
      return text.replaceAll('1.5', '18446744073709551616');
    }),
  );

/** Bodies of a key, and what the last one was found to have in common with one before it. */
const watchBodies = () => {
  const bodies = createBodyCache()('key');
  const last: { found: Overlap | undefined } = { found: undefined };
  const match: Bodies['match'] = (raw) => {
    const found = bodies.match(raw);
    last.found = found?.overlap;
    return found;
  };
  return { last, bodies: { ...bodies, match } };
};

const commonOf = (one: string, other: string): number => {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
};

const reversed = (text: string): string => [...text].reverse().join('');

/** Damages what a step adds to the one before it. */
const damagedAfter = (before: string, whole: string, { at, ...rest }: Damage): string => {
  const from = commonOf(before, whole);
  const to = whole.length - commonOf(reversed(before), reversed(whole.slice(from)));
  return damagedBy(whole, { ...rest, at: (from + at * (to - from)) / whole.length });
};

type Overlaps = { begun: number; ended: number; refused: number };

/** Sends a body twice: the values that the first leaves are those of the second. */
const sendTwice = (
  text: string,
  { bodies, last }: ReturnType<typeof watchBodies>,
  seen: Overlaps,
) => {
  const body = Buffer.from(text);
  const expected = outcomeOf(body);
  expect(outcomeOf(body, bodies)).toEqual(expected);
  const isRefused = typeof expected === 'string';
  seen.refused += isRefused && last.found ? 1 : 0;
  if (isRefused) return;
  seen.begun += last.found?.begun ? 1 : 0;
  seen.ended += last.found?.ended ? 1 : 0;
  const { nodes } = parseJsonObject(body, body.length, { bodies: () => bodies });
  expect(nodes).toEqual(parseJsonObject(body, body.length).nodes);
};

test('a body that begins and ends as the one before it is read, edited and refused as if it were the first', () => {
  const seen = { begun: 0, ended: 0, refused: 0 };
  fc.assert(
    fc.property(session, fc.option(damage), fc.boolean(), (steps, damaged, isNew) => {
      const [before = '', whole = ''] = steps.slice(-2);
      const last =
        damaged && (isNew ? damagedAfter(before, whole, damaged) : damagedBy(whole, damaged));
      const watched = watchBodies();
      for (const text of last ? [...steps, last] : steps) sendTwice(text, watched, seen);
    }),
    { numRuns: share(400, 5), seed: 31 },
  );
  expect(Math.min(seen.begun, seen.ended, seen.refused)).toBeGreaterThan(share(50, 5));
});

const KNOWN = JSON.stringify(Array.from({ length: 300 }, () => ({ a: 'x'.repeat(1_000) })));
/** The beginning of a body, up to a digit. */
const BEGUN = `{"system":1,"messages":[${KNOWN.slice(1, -1)},12`;

test.each([
  ['a number goes on', '3],"n":1}'],
  ['nothing is new', '],"n":1}'],
  ['a name of the beginning is repeated', '],"system":2}'],
  ['the list is repeated', '],"messages":[]}'],
  ['a name is repeated', '],"n":1,"n":2}'],
  ['a name of a new item is repeated', ',{"b":1,"b":2}]}'],
  ['an item has a prototype', ',{"__proto__":{"b":1}}]}'],
  ['a number has a spelling', ',{"b":1.0}],"n":-0}'],
  ['half a pair is escaped', ',"\\ud800"]}'],
  ['half a pair is in a value that another one replaces', ',{"b":"\\ud800","b":1}]}'],
  ['a pair is escaped', ',"\\ud83d\\ude00"]}'],
  ['too many levels follow', `,${'['.repeat(70)}${']'.repeat(70)}]}`],
  ['too many values follow', `${',0'.repeat(100_000)}]}`],
  ['too many members follow', `],${object(10_001).slice(1)}`],
  ['it ends in the list', ','],
  ['another value follows', ']}{}'],
])('behind what is known of a body, %s', (_, rest) => {
  const { bodies, last } = watchBodies();
  for (let step = 0; step < 2; step += 1) outcomeOf(Buffer.from(`${BEGUN}],"n":1}`), bodies);
  const body = Buffer.from(BEGUN + rest);
  expect(outcomeOf(body, bodies)).toEqual(outcomeOf(body));
  expect(last.found?.begun).toBeDefined();
});

/** The end of a body, as agents write it: what they send with each step comes last. */
const ENDED = `"tools":${KNOWN},"n":[1.0,{"":-0}],"":2}`;

test.each([
  ['an item is new', ',{"b":1.0}],'],
  ['space is around a comma', '] , \n\t'],
  ['a member is new', '],"b":{"c":1e400},'],
  ['a string takes its beginning', '],"b":"'],
  ['a string with a comma takes its beginning', '],"b":"c,'],
  ['a string with an escape takes its beginning', '],"b":"\\'],
  ['a name with an escape takes its beginning', '],"\\'],
  ['its members belong to another object', '],"b":{"c":1,'],
  ['its members belong to a list', '],"b":[1,'],
  ['its members belong to the list', ','],
  ['a comma is missing', ']'],
  ['a comma too many is before it', '],,'],
  ['the body ends before it', ']},'],
  ['a name of it is repeated', '],"tools":2,'],
  ['its member without a name is repeated', '],"":2,'],
  ['a name of the beginning is repeated', '],"system":2,'],
  ['a prototype is before it', '],"__proto__":{"b":1},'],
  ['half a pair is escaped', ',"\\ud800"],'],
  ['too many values are before it', `${',0'.repeat(100_000)}],`],
  ['too many values are in all', `${',0'.repeat(99_500)}],`],
  ['too many members are before it', `],${object(10_001).slice(1, -1)},`],
  ['10,000 members are in all', `],${object(9_995).slice(1, -1)},`],
  ['10,001 members are in all', `],${object(9_996).slice(1, -1)},`],
])('before what is known of the end of a body, %s', (_, middle) => {
  const begun = '{"system":1,"messages":[{"a":1},{"b":2}';
  const { bodies, last } = watchBodies();
  for (let step = 0; step < 2; step += 1) outcomeOf(Buffer.from(`${begun}],${ENDED}`), bodies);
  const body = Buffer.from(begun + middle + ENDED);
  expect(outcomeOf(body, bodies)).toEqual(outcomeOf(body));
  expect(last.found?.ended).toBeDefined();
});

test('a body does not begin as that of another key', () => {
  const cache = createBodyCache();
  const body = Buffer.from(`${BEGUN}]}`);
  const { match } = cache('one');
  parseJsonObject(body, body.length, { bodies: () => cache('one') });
  expect(match(body)).toMatchObject({ common: body.length });
  expect(cache('other').match(body)).toBeUndefined();
});

/** The body of a client, whose tools come last. */
const stepOf = (session: string, steps: number) =>
  Buffer.from(`{"messages":[${Array(steps).fill(`{"a":"${session.repeat(9_000)}"}`)}],${ENDED}`);

test('the first step of a session has the tools of the sessions before it, in those of its key alone', () => {
  const cache = createBodyCache();
  const send = (key: string, body: Buffer) => {
    const bodies = cache(key);
    const overlap = bodies.match(body)?.overlap;
    parseJsonObject(body, body.length, { bodies: () => bodies });
    return overlap;
  };
  expect(send('one', stepOf('a', 5))).toBeUndefined();
  // Which values are worth keeping the second one shows.
  expect(send('one', stepOf('x', 5))).toBeUndefined();
  const tools = { begun: undefined, ended: expect.anything() };
  for (const session of 'bcd') expect(send('one', stepOf(session, 5))).toMatchObject(tools);
  for (const session of 'bb') expect(send('other', stepOf(session, 5))).toBeUndefined();
  expect(send('other', stepOf('bc', 3))).toMatchObject(tools);
});

test('of the bodies of its key, a body continues the one that it begins most like', () => {
  const text = fc
    .array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 12 })
    .map((letters) => letters.join('').padStart(16, 'a'));
  const endingIn = (end: string) => text.map((letters) => letters + end);
  const sent = fc.array(fc.tuple(fc.constantFrom('one', 'other'), endingIn('y')), {
    maxLength: 30,
  });
  const read = { nodes: [], places: [], value: {} };
  fc.assert(
    fc.property(sent, fc.array(endingIn('z')), (earlier, later) => {
      const cache = createBodyCache();
      for (const [key, body] of earlier) cache(key).keep(Buffer.from(body), read, undefined);
      for (const body of later) {
        const commons = earlier.flatMap(([key, other]) =>
          key === 'one' ? [commonOf(other, body)] : [],
        );
        const most = Math.max(0, ...commons);
        const found = cache('one').match(Buffer.from(body));
        expect(found?.common ?? 0).toBe(most);
        if (found) expect(commonOf(found.body.raw.toString(), body)).toBe(most);
      }
    }),
    { numRuns: share(300, 5), seed: 35 },
  );
});

test('of 64 bodies, the one that was not used for longest makes room for another', () => {
  const bodies = createBodyCache()('key');
  const bodyOf = (session: number, step = 0) =>
    Buffer.from(
      JSON.stringify({ session, items: Array(20 + step).fill(`${session + 10}x`.repeat(200)) }),
    );
  const send = (body: Buffer) => parseJsonObject(body, body.length, { bodies: () => bodies });
  for (let session = 0; session < 64; session += 1) send(bodyOf(session));
  send(bodyOf(0, 1));
  send(bodyOf(64));
  const isKept = (session: number) =>
    (bodies.match(bodyOf(session))?.common ?? 0) > bodyOf(session).length - 10;
  expect([0, 1, 2, 63, 64].map(isKept)).toEqual([true, false, true, true, true]);
});

test.each([
  ['a list between two numbers', (list: string) => `{"a":1${list}2}`],
  ['a list behind the body', (list: string) => `{"a":1}${list}`],
  ['a list without its end', (list: string) => `{"a":${list.slice(0, -1)}`],
  ['items without a comma', (list: string) => `{"a":${list.replaceAll('},', '}')}}`],
  ['a number before an item', (list: string) => `{"a":${list.replace('[{', '[1{')}}`],
  ['a comma behind the last item', (list: string) => `{"a":${list.replace(/]$/, ',]')}}`],
])('a large body is no JSON with %s', (_, write) => {
  const list = JSON.stringify(Array.from({ length: 100 }, () => ({ a: 'x'.repeat(1_000) })));
  expect(outcomeOf(Buffer.from(`{"a":${list}}`))).toHaveProperty('sent');
  expect(outcomeOf(Buffer.from(write(list)))).toBe('The request body is not valid JSON.');
});

test('of a name that a large body repeats the last value counts', () => {
  const list = (letter: string) => JSON.stringify(Array(50).fill({ a: letter.repeat(1_000) }));
  for (const [first, last] of [
    [list('x'), list('y')],
    [list('x'), '[{"a":"y"}]'],
    ['[]', list('y')],
  ]) {
    const body = `{"messages":${first},"messages":${last}}`;
    const { value } = parseJsonObject(Buffer.from(body), body.length);
    expect(value).toEqual({ messages: JSON.parse(last ?? '') });
    expect(outcomeOf(Buffer.from(body))).toEqual(outcomeOf(body));
  }
});
