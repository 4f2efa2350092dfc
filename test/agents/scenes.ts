import assert from 'node:assert/strict';
import type { Plan } from '../../lambdas/stores/plan-store.ts';
import type { FaultRule } from '../../local/embedded-upstream/recorder.ts';
import type { Agent, AgentAnswer } from './agent.ts';
import type { BudgetState } from './budgets.ts';

export type Outcome = {
  answer: AgentAnswer;
  /** Generation requests of the model under test that the router answered, by status. */
  statuses: number[];
  /** What the upstreams it asked for them speak, in order. */
  upstreams: string[];
  /** What those upstreams were sent, as JSON. */
  sent: string[];
  /** The file, after the agent has ended. */
  fileText: string;
};

/** One prompt to an agent, and what must come of it. */
export type Scene = {
  name: string;
  prompt(call: Agent['call'], file: string): string;
  plan?: Partial<Plan>;
  /** Of the project's budget of dollars. */
  budget?: BudgetState;
  fault?: FaultRule;
  /** @throws AssertionError */
  check(outcome: Outcome, agent: Agent): void;
};

/** What the file says that agents are told to read. */
export const FILE_TEXT = 'The answer is 42.';
const THOUGHT = 'I should look.';
const HALF = 'one two three';
const LONG = `${HALF} four five six seven eight nine ten`;

const PATCHED_TEXT = 'The answer is 43.';
const PATCH = [
  '*** Begin Patch',
  '*** Update File: note.txt',
  '@@',
  `-${FILE_TEXT}`,
  `+${PATCHED_TEXT}`,
  '*** End Patch',
].join('\n');

/** The prompt holds the thought as well. */
const expectReasoningBack = ({ sent, upstreams }: Outcome, { reasoning }: Agent) => {
  const isUnsigned = reasoning === 'unsigned' && upstreams[1] === 'messages';
  const isLost = reasoning === 'dropped' || isUnsigned;
  const thoughts = sent.map((body) => body.split(THOUGHT).length - 1);
  assert.deepEqual(thoughts, [1, isLost ? 1 : 2]);
};

const answered = ({ answer, statuses }: Outcome, steps: number, ...parts: string[]) => {
  assert.equal(answer.error, undefined);
  for (const part of parts) assert.ok(answer.text.includes(part), `"${part}" in ${answer.text}`);
  assert.deepEqual(statuses, Array(steps).fill(200));
};

const expectDenied =
  (sentence: RegExp): Scene['check'] =>
  ({ answer, statuses }, { denials = 1 }) => {
    assert.match(answer.error ?? '', sentence);
    assert.deepEqual(statuses, Array(denials).fill(402));
  };

const BETWEEN_STEPS: FaultRule = { fault: { kind: 'status', status: 500 }, after: 1, times: 1 };

const expectSwitch = ({ upstreams: [first, failed, second] }: Outcome) => {
  assert.equal(failed, first);
  assert.notEqual(second, first);
};

const SCENES: Scene[] = [
  {
    name: 'says hi',
    prompt: () => 'say hi',
    check: (outcome) => {
      answered(outcome, 1);
      assert.equal(outcome.answer.text, 'hi');
    },
  },
  {
    name: 'reads a file, and sends its reasoning back with what it read',
    prompt: (call, file) => `think ${THOUGHT}\n${call.read(file)}`,
    check: (outcome, agent) => {
      answered(outcome, 2, FILE_TEXT);
      expectReasoningBack(outcome, agent);
    },
  },
  {
    name: 'runs two tools at once',
    prompt: (call, file) => `${call.read(file)} and ${call.shell('echo from the shell')}`,
    check: (outcome) => answered(outcome, 2, FILE_TEXT, 'from the shell'),
  },
  {
    name: 'is switched to the second upstream unnoticed',
    prompt: () => 'say hi',
    fault: { fault: { kind: 'status', status: 500 }, times: 1 },
    check: (outcome) => {
      answered(outcome, 1, 'hi');
      assert.equal(new Set(outcome.upstreams).size, 2);
    },
  },
  {
    name: 'is switched to the second upstream between its steps unnoticed',
    prompt: (call, file) => `think ${THOUGHT}\n${call.read(file)}`,
    fault: BETWEEN_STEPS,
    check: (outcome) => {
      answered(outcome, 2, FILE_TEXT);
      expectSwitch(outcome);
    },
  },
  {
    name: 'never takes half an answer for a whole one',
    prompt: () => `say ${LONG}`,
    fault: { fault: { kind: 'truncate', after: 6 }, times: 1 },
    check: ({ answer, statuses, sent }) => {
      // Only the first request breaks off: it is an error, or it was followed by a second one, which
      // repeats it or sends the half back to have it continued.
      assert.ok(statuses.length <= 2, `${statuses.length} requests`);
      assert.ok(answer.error !== undefined || statuses.length === 2);
      const isContinued = Number(sent[1]?.split(HALF).length) > Number(sent[0]?.split(HALF).length);
      assert.ok(answer.error !== undefined || isContinued || answer.text.endsWith(LONG));
    },
  },
  {
    name: 'stops at once when its quota is used up',
    prompt: () => 'say hi',
    plan: { quota: 0 },
    check: expectDenied(/quota/i),
  },
  {
    name: 'shows the sentence and stops when its budget is used up',
    prompt: () => 'say hi',
    budget: 'used up',
    check: expectDenied(/The budget of project .* is used up/),
  },
  {
    name: 'shows the sentence and stops when its budget is smaller than the request',
    prompt: () => 'say hi',
    budget: 'too small',
    check: expectDenied(/The budget of project .* is less than/),
  },
  {
    name: 'asks again while its budget is leased to a request in flight',
    prompt: () => 'say hi',
    budget: 'in flight',
    check: ({ answer, statuses }) => {
      assert.deepEqual(statuses.slice(0, 2), [429, 429]);
      assert.equal(statuses.at(-1), answer.error === undefined ? 200 : 429);
    },
  },
];

const patched = (outcome: Outcome) => {
  answered(outcome, 2);
  assert.equal(outcome.fileText, `${PATCHED_TEXT}\n`);
};

/** Scenes of a custom tool, which no upstream has: it gets a function of one text, described by the grammar. */
const patchScenes = (patch: (text: string) => string): Scene[] => [
  {
    name: 'applies a patch in the grammar that the model was sent',
    prompt: () => patch(PATCH),
    check: (outcome) => {
      patched(outcome);
      for (const part of ['grammar', 'begin_patch:']) assert.ok(outcome.sent[0]?.includes(part));
    },
  },
  {
    name: 'applies a patch, and the second upstream reads its result',
    prompt: () => patch(PATCH),
    fault: BETWEEN_STEPS,
    check: (outcome) => {
      patched(outcome);
      expectSwitch(outcome);
    },
  },
];

export const scenesOf = ({ call }: Agent): Scene[] => [
  ...SCENES,
  ...(call.patch ? patchScenes(call.patch) : []),
];
