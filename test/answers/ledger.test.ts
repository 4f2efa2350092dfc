import { afterAll, beforeAll, expect, test } from 'vitest';
import { ledgerOf } from '../../lambdas/protocols/ledger/ledger.ts';
import { upstreamProtocols } from '../../lambdas/protocols/protocols.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import {
  type GenerationUpstream,
  startGenerationUpstream,
} from '../support/generation-upstream.ts';
import { CANARIES } from '../support/leak-watch.ts';
import { isWithin, leavesOf, objectsOf, withoutLeaves } from '../support/leaves.ts';
import { modelOf } from '../support/models.ts';
import { chatWire } from '../support/request-wires/chat.ts';
import { messagesWire } from '../support/request-wires/messages.ts';
import { responsesWire } from '../support/request-wires/responses.ts';
import { PAIRS, type Pair } from '../support/sdk-requests.ts';
import { fc, share } from '../support/seeds.ts';
import { send } from '../support/send.ts';
import { VENDORS, wireAt } from '../support/strict-upstream/vendors.ts';
import { WIRES } from '../support/wires.ts';
import { PATHS } from './strict-fleet.ts';

type Json = Record<string, unknown>;

let upstream: GenerationUpstream;
let fleet: Fleet;

/** Rejects members that the vendor does not know. */
const unknownMembers = ({ url, body }: { url: string; body: Json }) => {
  const rejections = VENDORS[wireAt(url)].rejections(body);
  const unknown = rejections.filter((text) => text.includes('extra inputs are not permitted'));
  // Providers of open models have it.
  return unknown.find((text) => !text.includes('.reasoning_content:'));
};

beforeAll(async () => {
  upstream = await startGenerationUpstream(unknownMembers);
  const models = WIRES.map((protocol) => modelOf(protocol, upstream.url, { vision: true }));
  fleet = await startFleet({ models, clock: systemClock, secret: CANARIES.upstreamKey });
});
afterAll(async () => {
  await fleet.close();
  await upstream.close();
});

const ask = async ({ from, to }: Pair, body: Json, isStrict = false) => {
  upstream.take();
  const { status, headers, text } = await send(fleet.urls[0] ?? '', PATHS[from], {
    method: 'POST',
    headers: { authorization: `Bearer ${fleet.key}`, ...(isStrict && { 'x-router-strict': '1' }) },
    body: JSON.stringify({ ...body, model: `vendor/${to}` }),
  });
  const named = headers['x-router-dropped'];
  return {
    ...{ status, text, calls: upstream.take() },
    named: typeof named === 'string' ? named.split(', ') : [],
  };
};

const wires: Record<Pair['from'], fc.Arbitrary<object>> = {
  chat: chatWire(),
  messages: messagesWire(),
  responses: responsesWire(),
};

/** Members whose texts callers make up. */
const TEXTS = [
  ...['text', 'content', 'input', 'output', 'description', 'instructions', 'title', 'refusal'],
  ...['reasoning_content', 'thinking'],
];

/** An integer that JavaScript would round, as its text. */
const numberAt = (index: number): string => `${2n ** 64n + BigInt(index)}`;

/** The request with texts that occur once, and with new members that hold such numbers in the objects `places`. */
const marked = (wire: object, places: number[]): Json => {
  const body = JSON.parse(JSON.stringify(wire), (name, value) =>
    name.startsWith('zz9_') ? undefined : value,
  );
  const objects = objectsOf(body);
  for (const [index, place] of places.entries()) {
    const { object } = objects[place % objects.length] ?? { object: body };
    object[`zz9_${index}`] = JSON.rawJSON(numberAt(index));
  }
  for (const [index, { value, owner, name }] of leavesOf(body).entries()) {
    const mark = `mark ${index} of a text`;
    if (name === 'arguments') owner[name] = JSON.stringify({ a: mark });
    const isSound = name === 'data' && 'format' in owner;
    if (typeof value === 'string' && (isSound || TEXTS.includes(name))) owner[name] = mark;
  }
  return body;
};

const textOf = (value: unknown): string | undefined => {
  if (JSON.isRawJSON(value)) return value.rawJSON;
  return typeof value === 'string' ? /mark \d+ of a text/.exec(value)?.[0] : undefined;
};

/** Paths of which a request without them was another one for the target. */
const carried = new Set<string>();

const isCarried = async (pair: Pair, body: Json, path: string, sent: string): Promise<boolean> => {
  const key = `${pair.from} ${pair.to} ${path}`;
  if (carried.has(key)) return true;
  const { status, calls } = await ask(pair, withoutLeaves(body, path));
  if (status === 200 && calls[0]?.text === sent) return false;
  carried.add(key);
  return true;
};

/** The router reads them itself; the absence of a kind, and of an output's call, is repaired. */
const isRead = (path: string): boolean =>
  /^(?:model|stream)$|(?:^|\.)(?:type|role)$|_output\]\.call_id$/.test(path);

/** Where the target's protocol has no stop sequences, the router ends the response at them. */
const isOfRouter = ({ to }: Pair, path: string): boolean =>
  upstreamProtocols[to].takesStops === false && /^stop(?:_sequences)?$/.test(path);

/** The switch of calls without tools, which vendors reject; those that the vendor runs, and an empty namespace, are none. */
const isIdle = (path: string, sent: string): boolean =>
  path === 'parallel_tool_calls' && !sent.includes('"tools":');

/** Paths of what is lost in silence, and of what is sent and named as lost. */
const faultsOf = async (pair: Pair, body: Json, sent: string, named: string[]) => {
  const { harmless } = ledgerOf({ ...pair, received: body, strict: () => true, cache: () => [] });
  const faults: string[] = [];
  for (const { path, value } of leavesOf(body)) {
    if (isRead(path) || isOfRouter(pair, path) || isIdle(path, sent)) continue;
    const mark = textOf(value);
    const isIn = (entries: string[]) => entries.some((entry) => isWithin(path, entry));
    const isMarked = mark !== undefined;
    const isFound = isMarked && sent.includes(mark);
    if (isFound && isIn(named)) faults.push(`${path} is sent, and named`);
    if (isFound || isIn([...named, ...harmless])) continue;
    const isSent = !isMarked && (await isCarried(pair, body, path, sent));
    if (!isSent) faults.push(`${path} is lost in silence`);
  }
  return faults;
};

const isUnsayable = ({ status, text }: { status: number; text: string }): boolean =>
  status === 400 && /does not support|at least one message/.test(text);

test.each(PAIRS)(
  'every leaf of a $from request reaches a $to target, is named in x-router-dropped, or is harmless',
  async (pair) => {
    let accepted = 0;
    const places = fc.array(fc.nat(200), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(wires[pair.from], places, async (wire, at) => {
        const body = marked(wire, at);
        const { named, calls, ...answer } = await ask(pair, body);
        if (isUnsayable(answer)) return;
        expect([answer.status, calls.length], answer.text).toEqual([200, 1]);
        expect(await faultsOf(pair, body, calls[0]?.text ?? '', named)).toEqual([]);
        const strict = await ask(pair, body, true);
        const expected = named.length > 0 ? [400, 0] : [200, 1];
        expect([strict.status, strict.calls.length]).toEqual(expected);
        accepted += 1;
      }),
      { numRuns: share(30, 3) },
    );
    expect(accepted).toBeGreaterThan(share(12, 3));
  },
);
