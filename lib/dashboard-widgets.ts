import { GraphWidget, type IMetric } from 'aws-cdk-lib/aws-cloudwatch';

/** Widths in columns of the dashboard grid, which has 24. */
export const FULL_WIDTH = 24;
export const TWO_THIRDS = { width: 16, height: 6 };
export const HALF = { width: 12, height: 6 };
export const THIRD = { width: 8, height: 6 };

/** Returns a line graph; three fit in a row. */
export const third = (title: string, left: IMetric[], right: IMetric[] = []): GraphWidget =>
  new GraphWidget({ title, left, right, ...THIRD });

/** Returns a line graph; four fit in a row. */
export const quarter = (title: string, left: IMetric[]): GraphWidget =>
  new GraphWidget({ title, left, width: 6, height: 6 });

/** Returns a stacked area graph; three fit in a row. */
export const stacked = (title: string, left: IMetric[]): GraphWidget =>
  new GraphWidget({ title, left, stacked: true, ...THIRD });
