import { expect, onTestFinished, test } from 'vitest';
import { createHistoryJob } from '../../lambdas/history/history-job.ts';
import { WHOLE } from '../../lambdas/history/share.ts';
import type { HistoryStore } from '../../lambdas/stores/history-store.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { createLog } from '../../lambdas/support/log.ts';
import { openStores } from '../../local/local-stores.ts';
import { type LogLine, parseLine } from '../support/log-line.ts';
import { createManualClock } from '../support/manual-clock.ts';

const HOUR = 3_600_000;
const START = Date.parse('2026-11-04T00:25:00Z');
/** All days of November are closed. */
const NEXT_MONTH = Date.parse('2026-12-01T03:25:00Z');

/** A project whose meter counts units that no record shows, as after an outage of the records table. */
const startProject = async (history: (store: HistoryStore) => HistoryStore = (store) => store) => {
  const clock = createManualClock(START);
  const { parts, close } = openStores(systemClock);
  onTestFinished(close);
  await parts.projects.createProject({ id: 'acme', createdAt: START });
  const lines: LogLine[] = [];
  const log = createLog((line) => lines.push(parseLine(line)));
  const job = createHistoryJob({ ...parts, history: history(parts.history), clock, log });
  return {
    job,
    /** Units of a day without a record. */
    lose: (day: string, used: number) =>
      parts.history.putPeriod({
        ...{ projectId: 'acme', meterId: 'meter_a', keyId: 'key_a', period: day, used },
      }),
    runHourly: async (hours: number) => {
      for (let hour = 0; hour < hours; hour += 1) {
        await job.run();
        clock.advance(HOUR);
      }
    },
    setNow: clock.set,
    differences: () => lines.filter(({ event }) => event === 'history_differs'),
    events: () => lines.map(({ event }) => event),
  };
};

test('a difference of meter and records is reported by one of 60 hourly runs, and one that follows by another', async () => {
  const { lose, runHourly, differences } = await startProject();
  await lose('2026-11-03', 10);
  await runHourly(60);
  expect(differences()).toMatchObject([{ projectId: 'acme', units: 10, difference: 10 }]);
  await lose('2026-11-05', 6);
  await runHourly(24);
  expect(differences().slice(1)).toMatchObject([{ projectId: 'acme', units: 16, difference: 6 }]);
});

test('a difference whose correction could not be written is reported again', async () => {
  let isDown = true;
  const { job, lose, runHourly, differences } = await startProject((store) => ({
    ...store,
    putCorrection: (...row) => {
      if (isDown) throw new Error('The process died.');
      return store.putCorrection(...row);
    },
  }));
  await lose('2026-11-03', 10);
  await expect(job.run()).rejects.toThrow('died');
  isDown = false;
  await runHourly(3);
  expect(differences()).toHaveLength(2);
});

test('a meter that is read for the first time six days after its month is compared with that month', async () => {
  const { job, lose, runHourly, setNow, differences } = await startProject();
  setNow(NEXT_MONTH);
  await runHourly(6 * 24);
  await lose('2026-11-30', 10);
  await runHourly(2);
  expect(differences()).toMatchObject([{ projectId: 'acme', units: 10, difference: 10 }]);
  const { reconciled } = await job.reconcile('acme', WHOLE);
  expect(reconciled).toMatchObject([{ period: '2026-11-30', used: 10, corrected: 10 }]);
});

test('a reconciliation on the first day of a month has the periods of the day before', async () => {
  const { job, lose, runHourly, setNow } = await startProject();
  await lose('2026-11-30', 1);
  setNow(NEXT_MONTH);
  await runHourly(20);
  const { reconciled } = await job.reconcile('acme', WHOLE);
  expect(reconciled).toMatchObject([{ period: '2026-11-30', used: 1 }]);
});

test('two units without a record are reported by no run', async () => {
  const { lose, runHourly, differences } = await startProject();
  await lose('2026-11-03', 2);
  await runHourly(3);
  expect(differences()).toEqual([]);
});

test('a run for one project does not count as a run of the history', async () => {
  const { job, events } = await startProject();
  await job.run('acme');
  expect(events()).toEqual([]);
  await job.run();
  expect(events()).toEqual(['history_folded']);
});

test('a run that fails for one project does not count as a run of the history', async () => {
  const { job, events } = await startProject((store) => ({
    ...store,
    readPeriods: () => Promise.reject(new Error('The table failed.')),
  }));
  await expect(job.run()).rejects.toThrow('failed');
  expect(events()).not.toContain('history_folded');
});
