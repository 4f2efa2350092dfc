import { GraphWidget, type IMetric } from 'aws-cdk-lib/aws-cloudwatch';

/** Of a row of the grid, which has 24 columns. */
export const FULL_WIDTH = 24;
export const TWO_THIRDS = { width: 16, height: 6 };
export const HALF = { width: 12, height: 6 };
export const THIRD = { width: 8, height: 6 };

/** One of three graphs beside each other. */
export const third = (title: string, left: IMetric[], right: IMetric[] = []): GraphWidget =>
  new GraphWidget({ title, left, right, ...THIRD });

/** The same with areas that add up. */
export const stacked = (title: string, left: IMetric[]): GraphWidget =>
  new GraphWidget({ title, left, stacked: true, ...THIRD });
