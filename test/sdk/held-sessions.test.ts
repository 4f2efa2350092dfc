import { describe, expect, test } from 'vitest';
import { useRouter } from '../support/local.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { checksAll } from '../support/seeds.ts';
import { SDK_SESSIONS } from '../support/sessions/sdk-sessions.ts';
import { WIRES } from '../support/wires.ts';

/** Sessions of an agent with tools, held through each pair of a caller's and an upstream's protocol by official SDKs. */
const models = WIRES.map((protocol) =>
  modelOn([targetAt('https://upstream.example', { protocol, upstream: protocol })], {
    id: `held/${protocol}`,
  }),
);
const router = useRouter({ catalog: models });

type Files = Map<string, string>;
type Called = { path: string; text: string };

/** The tool: appends to a file, and returns what is in it. */
const append = (files: Files, { path, text }: Called): string => {
  const whole = (files.get(path) ?? '') + text;
  files.set(path, whole);
  return whole;
};

/** A long session asks each pair what the first steps of it asked. */
const LENGTH = checksAll ? 20 : 8;
/** The calls of each step: one, or two at once. */
const STEPS = Array.from({ length: LENGTH }, (_, step): Called[] =>
  Array.from({ length: step % 4 === 3 ? 2 : 1 }, (_, call) => ({
    path: `f${(step + call) % 3}.txt`,
    text: `Größe ${step}.${call};`,
  })),
);
const promptOf = (calls: Called[]): string =>
  ['think Step.', ...calls.map((one) => `call append ${JSON.stringify(one)}`)].join('\n');
describe.each(WIRES)('an upstream of %s', (protocol) => {
  test.each(Object.entries(SDK_SESSIONS))(
    `a session of ${LENGTH} steps with tools by an official SDK of %s ends in the same files`,
    async (_, open) => {
      const files: Files = new Map();
      const say = open({ ...router(), model: `held/${protocol}` });
      const wanted: Files = new Map();
      for (const step of STEPS) {
        const words = await say(promptOf(step), (text) => append(files, JSON.parse(text)));
        for (const call of step) expect(words).toContain(append(wanted, call));
      }
      expect(files).toEqual(wanted);
    },
  );

  test('thinking that the upstream signed is sent back to it, from a caller of each protocol', async () => {
    for (const open of Object.values(SDK_SESSIONS)) {
      router().upstreams.reset();
      await open({ ...router(), model: `held/${protocol}` })(
        promptOf([{ path: 'a', text: 'b' }]),
        () => 'done',
      );
      const { calls } = router().upstreams;
      expect(calls.length).toBe(2);
      const sent = JSON.stringify(calls[1]?.body);
      const isSigned = /"signature":|"encrypted_content":|"thoughtSignature":/.test(sent);
      // No upstream of chat signs.
      expect(isSigned).toBe(protocol !== 'chat');
      expect(sent).not.toContain('skip_thought_signature');
    }
  });
});
