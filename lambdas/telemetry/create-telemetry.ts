import { isDeepStrictEqual } from 'node:util';
import type { LogEvent, LogFields } from '../log-events.ts';
import type { Labelled, MetricName } from '../metrics.ts';
import { type Clock, createMinuteSample } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { createFormatEmf, type Point } from './format-emf.ts';
import { createMeasure, FLOODING } from './measure.ts';

type Options = {
  /** Value of the dimension `Stage`. */
  stage: string;
  labels: Labelled[];
  /** The events that are counted. @default all */
  events?: readonly LogEvent[];
  clock: Clock;
  /** Writes whole lines; `process.stdout.write` in the entries. */
  write: (lines: string) => void;
};

const isFloodable = (event: LogEvent, { status = 0 }: LogFields): boolean =>
  event === 'request' && FLOODING.includes(status);

/**
 * Lines of floodable errors within a minute. A flood of errors must not become a flood of log lines: at
 * 1,000 a second they are $15 a day.
 */
const FULL_PER_MINUTE = 10;

type Values = Point['values'];

const sum = (one: Values, other: Values): Values => {
  const total = { ...one };
  let name: MetricName;
  for (name in other) total[name] = (total[name] ?? 0) + (other[name] ?? 0);
  return total;
};

/** Metrics not yet written, one point for each set of labels. */
const createBacklog = () => {
  let points: Point[] = [];
  return {
    /** Returns the point that has these values too. */
    add: (point: Point): Point => {
      const same = points.find(({ labels }) => isDeepStrictEqual(labels, point.labels));
      if (same) same.values = sum(same.values, point.values);
      else points.push(point);
      return same ?? point;
    },
    take: (): Point[] => {
      const pending = points;
      points = [];
      return pending;
    },
  };
};

/**
 * A log that also writes metrics: they are members of the line that they count (EMF). In a flood of 401s or 429s few
 * lines are written, but all are counted: the skipped ones are added to the next line, or follow it in the same write
 * if they have other labels. At most 99 counts wait, and are lost only if the platform ends the process first.
 */
export const createTelemetry = ({ stage, labels, events, clock, write }: Options): Log => {
  const measure = createMeasure(labels);
  const format = createFormatEmf(stage);
  const isSampled = createMinuteSample(FULL_PER_MINUTE);
  const backlog = createBacklog();

  const lineOf = (facts: LogFields & { level: keyof Log; event: LogEvent }, own?: Point) => {
    const now = clock.now();
    const others = backlog.take().filter((point) => point !== own);
    const line = own ? format(own, now, facts) : `${JSON.stringify(facts)}\n`;
    return line + others.map((point) => format(point, now)).join('');
  };

  const at =
    (level: keyof Log): Log[typeof level] =>
    (event, fields) => {
      const isCounted = events === undefined || events.includes(event);
      const measured = isCounted ? measure(event, fields) : undefined;
      const point = measured && backlog.add(measured);
      if (isFloodable(event, fields) && !isSampled(clock.now())) return;
      write(lineOf({ level, event, ...fields }, point));
    };
  return { info: at('info'), warn: at('warn'), error: at('error') };
};
