import {
  CALLER_PROTOCOLS,
  type CallerProtocolName,
} from '../../../lambdas/protocols/protocol-name.ts';
import { checksAll } from '../../support/seeds.ts';
import { WIRES as NAMES, type Wire as WireName } from '../../support/wires.ts';
import { type Phase, WIRES } from './wires.ts';

/** What comes before the events of an answer. */
export type Head =
  /** The request is read and no byte is sent. */
  | 'no head'
  /** `102 Processing` alone. */
  | 'a 102'
  /** `101 Switching Protocols`. */
  | 'a 101'
  | 'a 200';

export type Cell = {
  /** Of its model. */
  id: string;
  caller: CallerProtocolName;
  wire: WireName;
  head: Head;
  /** The events that are sent, as one text. */
  bytes: string;
  answer: 'text' | 'empty';
  phase: Phase;
  /** Where the upstream stops, for the title. */
  after: string;
  then: 'silence' | 'pings' | 'a close';
  second: boolean;
  stream: boolean;
};

type Start = Omit<Cell, 'id' | 'caller' | 'then' | 'second' | 'stream'>;

const BOOLEANS = [false, true];

/** Every legal prefix of an answer's stream: the heads without an event, and each event with those before it. */
const startsOf = (wire: WireName): Start[] => {
  const heads = (['no head', 'a 102', 'a 101', 'a 200'] as const).map(
    (head): Start => ({ wire, head, bytes: '', answer: 'text', phase: 'nothing', after: head }),
  );
  const events = (['text', 'empty'] as const).flatMap((answer) =>
    WIRES[wire].answers[answer].map(
      ({ name, reaches }, at, steps): Start => ({
        wire,
        head: 'a 200',
        bytes: steps
          .slice(0, at + 1)
          .map(({ bytes }) => bytes)
          .join(''),
        answer,
        phase: reaches,
        after: `${name} of an answer with ${answer === 'text' ? 'a text' : 'no content'}`,
      }),
    ),
  );
  // The opening is the same for both answers.
  return [...heads, ...events.filter((one) => one.answer === 'text' || one.phase !== 'nothing')];
};

/** Without a 200 there is no body that a ping could be part of. */
const endingsOf = ({ head }: Start): Cell['then'][] =>
  head === 'a 200' ? ['silence', 'pings', 'a close'] : ['silence', 'a close'];

const MODES = CALLER_PROTOCOLS.flatMap((caller) =>
  BOOLEANS.flatMap((second) => BOOLEANS.map((stream) => ({ caller, second, stream }))),
);
type Mode = (typeof MODES)[number];

/** `npm test` stops an answer for a caller of its protocol in two of four modes, by turns, and for others in one of twelve. */
const isChosen = (
  wire: WireName,
  { caller, second, stream }: Mode,
  at: number,
  of: number,
): boolean =>
  checksAll ||
  (at + of) % MODES.length === 0 ||
  (caller === wire && wire !== 'responses' && (second === stream) === (at % 2 === 0));

export const CELLS: Cell[] = NAMES.flatMap(startsOf)
  .flatMap((start) => endingsOf(start).map((then) => ({ ...start, then })))
  .flatMap((start, at) =>
    MODES.filter((mode, of) => isChosen(start.wire, mode, at, of)).map((mode) => ({
      ...start,
      ...mode,
    })),
  )
  .map((cell, at) => ({ ...cell, id: `vendor/cell-${at}` }));

export const titleOf = ({ caller, wire, after, then, second, stream }: Cell): string =>
  `${caller} on ${wire}: ${after}, then ${then}${second ? ', a second target' : ''}, ${stream ? 'streamed' : 'whole'}`;

/** What a caller gets. `afterMs`: time of the clock from the request to the end of the response. */
export type Outcome = {
  kind: 'answer' | 'second answer' | 'cut answer' | 'empty answer' | 'error event' | 'status';
  status: number;
  charged: number;
  afterMs: number;
};

const FIRST_CONTENT_MS = 30_000;
const IDLE_MS = 60_000;
const GOODBYE_MS = 2_000;
const TOTAL_MS = { whole: 590_000, streamed: 885_000 };
/** From here on the status of a stream is out, and a failure is an event. */
const HEARTBEAT_MS = 10_000;

const answered = (kind: Outcome['kind'], afterMs: number): Outcome => ({
  kind,
  status: 200,
  charged: kind === 'empty answer' ? 0 : 1,
  afterMs,
});

const failed = ({ stream }: Cell, status: number, afterMs: number, hasBegun: boolean): Outcome =>
  stream && (hasBegun || afterMs >= HEARTBEAT_MS)
    ? { kind: 'error event', status: 200, charged: 0, afterMs }
    : { kind: 'status', status, charged: 0, afterMs };

/** No part of the answer was shown: another target takes over. */
const beforeContent = (cell: Cell): Outcome => {
  const isOver = cell.then === 'a close' || cell.head === 'a 101';
  const afterMs = isOver ? 0 : FIRST_CONTENT_MS;
  if (cell.second) return answered('second answer', afterMs);
  return failed(cell, isOver ? 502 : 504, afterMs, false);
};

const inContent = (cell: Cell): Outcome => {
  if (cell.then === 'a close') return failed(cell, 502, 0, true);
  if (cell.then === 'silence') return failed(cell, 504, IDLE_MS, true);
  return answered('cut answer', cell.stream ? TOTAL_MS.streamed : TOTAL_MS.whole);
};

const afterFinish = ({ answer, phase, then, second }: Cell): Outcome => {
  const waits = phase === 'finished' && then !== 'a close';
  const afterMs = waits ? GOODBYE_MS : 0;
  if (answer === 'text') return answered('answer', afterMs);
  return answered(second ? 'second answer' : 'empty answer', afterMs);
};

/** The rules of docs/reliability.md for one cell. */
export const expectedOf = (cell: Cell): Outcome => {
  if (cell.phase === 'nothing') return beforeContent(cell);
  return cell.phase === 'content' ? inContent(cell) : afterFinish(cell);
};
