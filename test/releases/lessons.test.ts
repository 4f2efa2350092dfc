import {
  GetCommand,
  type GetCommandInput,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Target } from '../../lambdas/catalog/parse-models.ts';
import { createLessons } from '../../lambdas/routing/lessons.ts';
import { createDynamoNotes } from '../../lambdas/stores/dynamo/notes.ts';
import type { LessonStore } from '../../lambdas/stores/notes.ts';
import { DAY_MS, HOUR_MS } from '../../lambdas/support/clock.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { startDynamo, TABLE_NAMES, type TestDynamo } from '../support/dynamo.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { targetAt } from '../support/models.ts';

const clock = createManualClock(Date.parse('2026-11-24T12:00:00Z'));

/** What 0.2.0 sends, as its client did. */
const clientOfOld = ({ sdk }: TestDynamo) => ({
  clock,
  call: (operation: string, input: object) =>
    operation === 'GetItem'
      ? sdk.send(new GetCommand(input as GetCommandInput))
      : sdk.send(new UpdateCommand(input as UpdateCommandInput)),
});

type Frozen = { createDynamoLessonStore(options: object): LessonStore };

let dynamo: TestDynamo;
let old: LessonStore;
beforeAll(async () => {
  dynamo = await startDynamo();
  const { href } = new URL('../fixtures/releases/0.2.0/lessons.mjs', import.meta.url);
  const frozen = (await import(href)) as Frozen;
  const options = { client: clientOfOld(dynamo), tableName: TABLE_NAMES.meters };
  old = frozen.createDynamoLessonStore(options);
});
afterAll(() => dynamo.close());

const current = () => {
  const { client } = dynamo;
  const store = createDynamoNotes({ client, tableName: TABLE_NAMES.meters }).lessons;
  return createLessons({ store, clock, log: createLog(() => undefined) });
};
const target = Target.parse({ ...targetAt('http://127.0.0.1'), upstream: 'one', model: 'm' });
const NAME = 'chat:one/m';

test('lessons of this release are read by 0.2.0, also one that was forgotten', async () => {
  const lessons = current();
  await lessons.learn(target, { sampling: [], stop: false });
  const learned = (await old.readLessons())[NAME];
  expect(JSON.parse(learned?.profile ?? '')).toEqual({ sampling: [], stop: false });
  expect(learned?.until).toBe(clock.now() + DAY_MS);
  await lessons.forget(target, 'stop');
  expect(JSON.parse((await old.readLessons())[NAME]?.profile ?? '')).toEqual({ sampling: [] });
  await lessons.forget(target, 'sampling');
  expect(JSON.parse((await old.readLessons())[NAME]?.profile ?? '')).toEqual({});
});

test('lessons of 0.2.0, whose members have no ages, hold in this release until they end, and are tried each hour', async () => {
  const until = clock.now() + 3 * HOUR_MS;
  await old.writeLesson(NAME, { profile: JSON.stringify({ stop: false }), until });
  const lessons = current();
  expect((await lessons.adapt(target)).profile).toEqual({ stop: false });
  expect(lessons.trials(target)).toMatchObject([{ member: 'stop' }]);
  expect(lessons.trials(target)).toEqual([]);
  clock.advance(4 * HOUR_MS);
  expect((await current().adapt(target)).profile).toEqual({});
});

test('a lesson that 0.2.0 writes beside those of this release replaces none of them', async () => {
  const lessons = current();
  await lessons.learn(target, { parallelTools: false });
  await old.writeLesson('one/m', { profile: '{"stop":false}', until: clock.now() + DAY_MS });
  await lessons.learn(target, { parallelTools: false, forcedTool: false });
  expect(Object.keys(await old.readLessons()).toSorted()).toEqual([NAME, 'one/m']);
  const { profile } = await current().adapt(target);
  expect(profile).toEqual({ parallelTools: false, forcedTool: false });
});
