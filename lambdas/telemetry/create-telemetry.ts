import type { LogEvent, LogFields } from '../log-events.ts';
import { type Labelled, METRIC_NAMES } from '../metrics.ts';
import type { Clock } from '../support/clock.ts';
import { createLog, type Log } from '../support/log.ts';
import { formatEmf, type Point } from './format-emf.ts';
import { createMeasure } from './measure.ts';
import { createSampleErrors } from './sample-errors.ts';

type Options = {
  /** Value of the dimension `Stage`. */
  stage: string;
  labels: Labelled[];
  clock: Clock;
  /** Takes one line; `process.stdout.write` in the entries. */
  write: (line: string) => void;
};

/** Refusals that callers can cause as fast as they like; 402 is never retried by an SDK. */
const FLOODING = [401, 429];

const isFloodable = (event: LogEvent, { status = 0 }: LogFields): boolean =>
  event === 'request' && FLOODING.includes(status);

const add = (total: Point, { labels, values }: Point): Point => {
  const sum: Point['values'] = { ...total.values };
  for (const name of METRIC_NAMES) {
    const value = values[name];
    if (value !== undefined) sum[name] = (sum[name] ?? 0) + value;
  }
  return { labels, values: sum };
};

/** Counts of the lines that were left out, by their labels. */
const createBacklog = () => {
  const points = new Map<string, Point>();
  return {
    add: (point: Point) => {
      const key = JSON.stringify(point.labels);
      points.set(key, add(points.get(key) ?? { labels: {}, values: {} }, point));
    },
    take: (): Point[] => {
      const taken = [...points.values()];
      points.clear();
      return taken;
    },
  };
};

/**
 * A log whose lines are also counted: beside each line that says something countable goes one line of
 * metrics. Of a flood of refusals few lines are written, but all are counted: those left out wait for the
 * next line, at most 99 of them, and only they are lost if the platform ends this process meanwhile.
 */
export const createTelemetry = ({ stage, labels, clock, write }: Options): Log => {
  const log = createLog(write);
  const measure = createMeasure(labels);
  const isSampled = createSampleErrors();
  const backlog = createBacklog();

  const flush = () => {
    for (const point of backlog.take()) write(formatEmf(stage, point, clock.now()));
  };

  const at =
    (level: keyof Log): Log[typeof level] =>
    (event, fields) => {
      const point = measure(event, fields);
      if (point) backlog.add(point);
      if (isFloodable(event, fields) && !isSampled(clock.now())) return;
      log[level](event, fields);
      flush();
    };
  return { info: at('info'), warn: at('warn'), error: at('error') };
};
