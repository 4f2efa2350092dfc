import assert from 'node:assert/strict';
import type { Plan } from '../../lambdas/stores/plan-store.ts';
import type { FaultRule } from '../../local/embedded-upstream/recorder.ts';
import type { Agent, AgentAnswer } from './agent.ts';

export type Outcome = {
  answer: AgentAnswer;
  /** Generation requests of the model under test that the router answered, by status. */
  statuses: number[];
  /** What the upstreams it asked for them speak, in order. */
  upstreams: string[];
};

/** One prompt to an agent, and what must come of it. */
export type Scene = {
  name: string;
  prompt(call: Agent['call'], file: string): string;
  plan?: Partial<Plan>;
  fault?: FaultRule;
  /** @throws AssertionError */
  check(outcome: Outcome): void;
};

/** What the file says that agents are told to read. */
export const FILE_TEXT = 'The answer is 42.';
const LONG = 'one two three four five six seven eight nine ten';

const answered = ({ answer, statuses }: Outcome, steps: number, ...parts: string[]) => {
  assert.equal(answer.error, undefined);
  for (const part of parts) assert.ok(answer.text.includes(part), `"${part}" in ${answer.text}`);
  assert.deepEqual(statuses, Array(steps).fill(200));
};

export const SCENES: Scene[] = [
  {
    name: 'says hi',
    prompt: () => 'say hi',
    check: (outcome) => {
      answered(outcome, 1);
      assert.equal(outcome.answer.text, 'hi');
    },
  },
  {
    name: 'reads a file',
    prompt: (call, file) => `think I should look.\n${call.read(file)}`,
    check: (outcome) => answered(outcome, 2, FILE_TEXT),
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
    name: 'never takes half an answer for a whole one',
    prompt: () => `say ${LONG}`,
    fault: { fault: { kind: 'truncate', after: 6 }, times: 1 },
    check: ({ answer, statuses }) => {
      // Only the first request breaks off: it is an error, or it was followed by a second one.
      assert.ok(statuses.length <= 2, `${statuses.length} requests`);
      assert.ok(answer.error !== undefined || statuses.length === 2);
      assert.ok(answer.error !== undefined || answer.text.endsWith(LONG));
    },
  },
  {
    name: 'stops at once when its quota is used up',
    prompt: () => 'say hi',
    plan: { quota: 0 },
    check: ({ answer, statuses }) => {
      assert.match(answer.error ?? '', /quota/i);
      assert.deepEqual(statuses, [402]);
    },
  },
];
