import { LATENCY_BOUNDS_MS } from './latency-bounds.ts';

/** https://prometheus.io/docs/specs/om/open_metrics_spec/ */
export const OPEN_METRICS_TYPE = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

type Labels = Readonly<Record<string, string>>;

type Family = {
  name: string;
  help: string;
  /** Also the end of the name. */
  unit?: string;
} & (
  | { type: 'counter' | 'gauge'; points: readonly (readonly [Labels, number])[] }
  /** Count, sum in milliseconds, counts of the buckets. */
  | { type: 'histogram'; points: readonly (readonly [Labels, readonly number[]])[] }
);
export type MetricFamily = Family;

const escaped = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');

const sampleOf = (name: string, labels: Labels, value: number): string => {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`;
};

const histogramOf = (name: string, labels: Labels, numbers: readonly number[]): string[] => {
  const [count = 0, sum = 0, ...counts] = numbers;
  let below = 0;
  const buckets = LATENCY_BOUNDS_MS.map((bound, at) => {
    below += counts[at] ?? 0;
    return sampleOf(`${name}_bucket`, { ...labels, le: String(bound / 1_000) }, below);
  });
  return [
    ...buckets,
    sampleOf(`${name}_bucket`, { ...labels, le: '+Inf' }, count),
    sampleOf(`${name}_count`, labels, count),
    sampleOf(`${name}_sum`, labels, sum / 1_000),
  ];
};

const samplesOf = (family: Family): string[] => {
  const { name, type } = family;
  if (type === 'histogram') {
    return family.points.flatMap(([labels, numbers]) => histogramOf(name, labels, numbers));
  }
  const sample = type === 'counter' ? `${name}_total` : name;
  return family.points.map(([labels, value]) => sampleOf(sample, labels, value));
};

/** The text form of OpenMetrics. Each family has its points once, with different labels. */
export const formatOpenMetrics = (families: readonly Family[]): string =>
  [
    ...families.flatMap((family) => [
      `# TYPE ${family.name} ${family.type}`,
      ...(family.unit === undefined ? [] : [`# UNIT ${family.name} ${family.unit}`]),
      `# HELP ${family.name} ${escaped(family.help)}`,
      ...samplesOf(family),
    ]),
    '# EOF\n',
  ].join('\n');
