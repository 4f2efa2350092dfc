/**
 * Reads the text form of OpenMetrics 1.0 as its specification has it, and rejects what it forbids; of the types, only those
 * that the router has. https://prometheus.io/docs/specs/om/open_metrics_spec/
 */
export type Sample = { name: string; labels: Record<string, string>; value: number };
export type Family = { name: string; type: string; unit: string; help: string; samples: Sample[] };

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const METADATA = /^# (TYPE|UNIT|HELP) (\S+) (.*)$/;
const SAMPLE = /^(?<name>[^\s{]+)(?:\{(?<labels>.*)\})? (?<value>\S+)$/;
const LABEL = /(?<name>[a-zA-Z_][a-zA-Z0-9_]*)="(?<text>(?:[^"\\\n]|\\[\\n"])*)"(?<end>,|$)/y;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/;
const SUFFIXES: Record<string, string[]> = {
  counter: ['_total'],
  gauge: [''],
  histogram: ['_bucket', '_count', '_sum'],
};

const check = (isRight: boolean, what: string): void => {
  if (!isRight) throw new Error(what);
};

const readLabels = (text: string, line: string): Record<string, string> => {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const { name = '', text: escaped = '', end } = LABEL.exec(text)?.groups ?? {};
    check(end !== undefined, `Labels of ${line}`);
    check(!(name in labels), `A label twice: ${line}`);
    check(!name.startsWith('__'), `A reserved label: ${line}`);
    labels[name] = escaped.replaceAll(/\\(.)/g, (_, sign) => (sign === 'n' ? '\n' : sign));
    if (end === '') break;
  }
  return labels;
};

const readSample = (line: string): Sample => {
  const { name = '', labels = '', value = '' } = SAMPLE.exec(line)?.groups ?? {};
  check(NAME.test(name), `Not a sample: ${line}`);
  check(NUMBER.test(value), `Not a number: ${line}`);
  return { name, labels: readLabels(labels, line), value: Number(value) };
};

const keyOf = (labels: Record<string, string>): string =>
  JSON.stringify(Object.entries(labels).toSorted());

const checkHistogram = ({ name, samples }: Family): void => {
  const groups = Map.groupBy(samples, ({ labels: { le: _, ...labels } }) => keyOf(labels));
  for (const [labels, group] of groups) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels: { le } }) => (le === '+Inf' ? Infinity : Number(le)));
    const counts = buckets.map(({ value }) => value);
    const where = `${name}${labels}`;
    check(
      bounds.every((bound, at) => at === 0 || bound > Number(bounds[at - 1])),
      `${where}: order`,
    );
    check(bounds.at(-1) === Infinity, `${where}: no bucket +Inf`);
    check(
      counts.every((count, at) => at === 0 || count >= Number(counts[at - 1])),
      `${where}: buckets are not cumulative`,
    );
    const count = group.find((sample) => sample.name === `${name}_count`);
    check(count?.value === counts.at(-1), `${where}: count`);
    check(
      group.some((sample) => sample.name === `${name}_sum`),
      `${where}: no sum`,
    );
  }
};

const checkFamily = (family: Family): void => {
  const { name, type, unit, samples } = family;
  check(type in SUFFIXES, `${name}: type ${type}`);
  check(unit === '' || name.endsWith(`_${unit}`), `${name}: unit ${unit}`);
  check(!/_(?:total|count|sum|bucket|created|info)$/.test(name), `${name}: reserved suffix`);
  const seen = new Set<string>();
  for (const sample of samples) {
    const key = sample.name + keyOf(sample.labels);
    check(!seen.has(key), `Twice: ${key}`);
    seen.add(key);
    if (type !== 'gauge') check(sample.value >= 0, `Negative: ${key}`);
    if (type === 'histogram') {
      check(sample.name.endsWith('_bucket') === 'le' in sample.labels, `le: ${key}`);
    }
  }
  if (type === 'histogram') checkHistogram(family);
};

/** @throws Error for a text that the specification forbids */
export const readOpenMetrics = (text: string): Map<string, Family> => {
  check(text.endsWith('\n# EOF\n') || text === '# EOF\n', 'The end is not # EOF');
  const families = new Map<string, Family>();
  let family: Family | undefined;
  for (const line of text.slice(0, -'# EOF\n'.length).split('\n').slice(0, -1)) {
    const [, word, name = '', rest = ''] = METADATA.exec(line) ?? [];
    if (word === undefined) {
      const sample = readSample(line);
      const suffixes = SUFFIXES[family?.type ?? ''] ?? [];
      const isOwn = suffixes.some((suffix) => sample.name === family?.name + suffix);
      check(family !== undefined && isOwn, `Of no family, or of an earlier one: ${line}`);
      family?.samples.push(sample);
      continue;
    }
    check(NAME.test(name), `Not a name: ${line}`);
    if (family?.name !== name) {
      check(!families.has(name), `A family twice: ${name}`);
      family = { name, type: '', unit: '', help: '', samples: [] };
      families.set(name, family);
    }
    const member = word.toLowerCase() as 'type' | 'unit' | 'help';
    check(family.samples.length === 0 && family[member] === '', `Metadata late or twice: ${line}`);
    family[member] = rest;
  }
  for (const one of families.values()) checkFamily(one);
  return families;
};

/** The sum of a family's samples with some labels. */
export const totalOf = (
  families: Map<string, Family>,
  name: string,
  wanted: Record<string, string> = {},
): number =>
  (families.get(name.replace(/_(?:total|count|sum|bucket)$/, '')) ?? families.get(name))?.samples
    .filter((sample) => sample.name === name)
    .filter(({ labels }) => Object.entries(wanted).every(([label, text]) => labels[label] === text))
    .reduce((sum, { value }) => sum + value, 0) ?? Number.NaN;
