import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createManualClock } from '../support/manual-clock.ts';
import { fc, share } from '../support/seeds.ts';
import { type KeysModel, keyCommands, known } from './keys-model/commands.ts';
import { type KeysLab, startKeysLab } from './keys-model/lab.ts';

const START = Date.parse('2026-11-21T11:30:00Z');
const HISTORIES = Number(process.env.KEY_HISTORIES ?? share(20));

let lab: KeysLab;
beforeAll(async () => {
  lab = await startKeysLab(createManualClock(START));
  const plan = { id: 'keys', rpm: 1_000_000, quota: 1_000_000, period: 'month' };
  expect((await lab.admin('POST', '/plans', plan)).status).toBe(201);
});
afterAll(() => lab.close());

let projects = 0;
const setUp = async (): Promise<{ model: KeysModel; real: KeysLab }> => {
  projects += 1;
  const project = `project-${projects}`;
  lab.setKeysDown(false);
  expect((await lab.admin('POST', '/projects', { id: project })).status).toBe(201);
  return { model: { project, keys: [], isDown: false }, real: lab };
};

const { create, rotate, revoke, call, look, pass, turn } = known;
const CREATE = create(undefined);
/** Both processes have the key in their caches. */
const CACHED = [CREATE, call('generate', 0, 0), call('generate', 1, 0)];
const REFUSED = [call('generate', 0, 0), call('generate', 1, 0)];

describe('a revoked key', () => {
  test.each([
    ['the operator looks at the usage', [...CACHED, revoke(0), look, ...REFUSED]],
    ['its holder looks at the usage', [...CACHED, revoke(0), call('usage', 0, 0), ...REFUSED]],
    [
      'its successor is in use',
      [
        ...CACHED,
        rotate(0, '24h'),
        revoke(0),
        ...REFUSED,
        call('generate', 0, 1),
        ...REFUSED,
        look,
      ],
    ],
    [
      'the operator looks and the keys table fails',
      [...CACHED, revoke(0), look, turn(true), ...REFUSED, pass(9 * 60_000), ...REFUSED],
    ],
    [
      'the operator looks after 23 hours',
      [...CACHED, revoke(0), pass(23 * 3_600_000), look, ...REFUSED, look],
    ],
  ])('a key gets 401 from every process after %s', async (_, history) => {
    await fc.asyncModelRun(setUp, history);
  });
});

test(`a key that was revoked, replaced or expired gets 401 from the next request on, in any of ${HISTORIES} histories`, async () => {
  const histories = fc.asyncProperty(keyCommands, (commands) => fc.asyncModelRun(setUp, commands));
  await fc.assert(histories, { numRuns: HISTORIES });
}, 600_000);
