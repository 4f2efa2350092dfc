import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Answer, readHttp } from '../fuzz/read-http.ts';
import { createRandom, type Random } from '../simulation/random.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { share } from '../support/seeds.ts';
import { isObject } from '../support/strict-upstream/checker.ts';
import type { Meant } from '../support/strict-upstream/wire-response.ts';
import { WIRES, type Wire } from '../support/wires.ts';
import {
  type Caller,
  type Conversation,
  callsOf,
  canonical,
  conversationOf,
  questionOf,
  requestOf,
  statementsOf,
} from './conversation.ts';
import { pickFrom, sizesFor, textOf } from './random-values.ts';
import { readRequest } from './read-request.ts';
import { type Read, readResponse } from './read-response.ts';
import { PAIRS, PATHS, withStrictFleet } from './strict-fleet.ts';

const { ANSWERS_MINUTES, ANSWERS_SEED } = process.env;
const FIRST_SEED = Number(ANSWERS_SEED ?? 1);
/** Conversations of each pair; a soak goes on for its minutes instead. */
const CONVERSATIONS = share(12, 3);
const SOAK_MS = Number(ANSWERS_MINUTES ?? 0) * 60_000;
const BACKSTOP_MS = 120_000;

const strict = withStrictFleet(({ urls }) =>
  WIRES.map((wire) => {
    // How a deployment describes targets that follow their vendor's rules to the letter.
    const rules = { systemTurns: 'leading', reasoningHistory: 'refused' } as const;
    const target = targetAt(urls[wire], { protocol: wire, upstream: wire, ...rules });
    return modelOn([target], { id: `vendor/${wire}`, vision: true });
  }),
);

/** Sends the request over a connection of its own, in pieces, and reads it to its end. */
const exchange = async (path: string, body: Buffer, sizes: number[]): Promise<Answer> => {
  const { hostname, port } = new URL(strict.fleet.urls[0] ?? '');
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'connect');
  const head = [
    `POST ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    'connection: close',
    'content-type: application/json',
    `x-api-key: ${strict.fleet.key}`,
    `content-length: ${body.byteLength}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  for (let at = 0, turn = 0; at < body.byteLength; turn += 1) {
    const size = sizes[Math.min(turn, sizes.length - 1)] ?? body.byteLength;
    socket.write(body.subarray(at, at + size));
    at += size;
    await setImmediate();
  }
  await once(socket, 'close');
  const { answers, isCut } = readHttp(Buffer.concat(chunks));
  const [answer] = answers;
  if (!answer || answers.length > 1 || isCut) throw new Error('not exactly one whole answer');
  return answer;
};

const meantBy = (random: Random, wire: Wire): Meant => {
  const calls = random.chance(0.4) ? callsOf(random, wire) : [];
  const hasCalls = calls.length > 0;
  const input = random.between(1, 100_000);
  return {
    text: hasCalls && random.chance(0.5) ? '' : textOf(random),
    calls,
    finish: hasCalls ? 'tool-calls' : pickFrom(random, ['stop', 'length'] as const),
    usage: { input, cached: random.between(0, input), output: random.between(1, 100_000) },
  };
};

const formOf = (random: Random) => ({
  isWhole: random.chance(0.2),
  isAscii: random.chance(0.3),
  units: [random.between(1, 7), random.between(1, 3), random.between(40, 9_000)],
});

/** Two texts as one short difference: they may be megabytes. */
const expectSame = (got: string, wanted: string, what: string) => {
  if (got === wanted) return;
  let at = 0;
  while (got[at] === wanted[at]) at += 1;
  const around = (text: string) => JSON.stringify(text.slice(Math.max(0, at - 30), at + 60));
  throw new Error(`${what} differs at ${at}: got ${around(got)}, wanted ${around(wanted)}`);
};

const TOOL_ID = { chat: /^.{1,}$/s, messages: /^[a-zA-Z0-9_-]+$/, responses: /^.{1,}$/s };

const expectRead = (caller: Caller, read: Read, meant: Meant) => {
  expectSame(read.text, meant.text, 'the text');
  expect(read.calls.map(({ name }) => name)).toEqual(meant.calls.map(({ name }) => name));
  for (const [at, { arguments: text }] of meant.calls.entries()) {
    expectSame(canonical(read.calls[at]?.arguments ?? ''), canonical(text), `arguments ${at}`);
  }
  for (const { id } of read.calls) expect(id).toMatch(TOOL_ID[caller]);
  expect(new Set(read.calls.map(({ id }) => id)).size).toBe(meant.calls.length);
  expect({ finish: read.finish, usage: read.usage }).toEqual({
    finish: meant.finish,
    usage: meant.usage,
  });
};

const expectAsked = (wire: Wire, conversation: Conversation) => {
  const received = strict.upstream.take();
  expect(
    received.flatMap(({ rejections }) => rejections),
    'the vendor rejects',
  ).toEqual([]);
  expect(received.map((one) => one.wire)).toEqual([wire]);
  const [{ body } = { body: {} }] = received;
  const read = readRequest[wire](isObject(body) ? body : {});
  const wanted = statementsOf(conversation);
  const kinds = (statements: string[][]) => statements.map(([kind]) => kind);
  expect(kinds(read)).toEqual(kinds(wanted));
  for (const [at, statement] of wanted.entries()) {
    expectSame(JSON.stringify(read[at]), JSON.stringify(statement), `statement ${at}`);
  }
};

type Pair = (typeof PAIRS)[number];

/** A conversation of one to three turns, each built on the answer that the caller has read. */
const converse = async (random: Random, { caller, wire }: Pair): Promise<number> => {
  const asked = conversationOf(random, caller);
  // Where the protocol has no stop sequences, the router ends responses at them, which `stop-sequences.test.ts` is about.
  let conversation = wire === 'responses' ? { ...asked, stop: [] } : asked;
  const turns = random.between(1, 3);
  for (let turn = 0; turn < turns; turn += 1) {
    const stream = random.chance(0.5);
    const meant = meantBy(random, wire);
    const form = formOf(random);
    strict.upstream.script({
      meant,
      form,
      sizes: sizesFor(random, JSON.stringify(meant).length * 2),
    });
    const body = Buffer.from(requestOf(caller, conversation, { model: `vendor/${wire}`, stream }));
    const answer = await exchange(PATHS[caller], body, sizesFor(random, body.byteLength));
    expectAsked(wire, conversation);
    const read = readResponse(caller, answer, stream);
    expectRead(caller, read, meant);
    const calls = read.calls.map((call) => ({ ...call, result: textOf(random) }));
    const round = { question: conversation.question, said: read.text, calls };
    conversation = {
      ...conversation,
      rounds: [...conversation.rounds, round],
      question: questionOf(random),
    };
  }
  return turns;
};

test.each(PAIRS)(
  'random conversations of $caller callers on a $wire upstream keep every byte both ways',
  async (pair) => {
    const until = performance.now() + SOAK_MS / PAIRS.length;
    const before = await strict.fleet.charged();
    let turns = 0;
    const goesOn = (count: number) =>
      ANSWERS_MINUTES === undefined ? count < CONVERSATIONS : performance.now() < until;
    for (let count = 0; goesOn(count); count += 1) {
      const seed = FIRST_SEED + count;
      try {
        turns += await converse(createRandom(seed), pair);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(`ANSWERS_SEED=${seed}: ${reason}`, { cause: error });
      }
    }
    expect(await strict.fleet.charged()).toBe(before + turns);
  },
  SOAK_MS + BACKSTOP_MS,
);
