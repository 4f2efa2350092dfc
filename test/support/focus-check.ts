import { readFileSync } from 'node:fs';
import * as z from 'zod';

/** The published columns of the specification. */
const Columns = z.object({
  version: z.string(),
  columns: z.array(
    z.object({
      id: z.string(),
      level: z.enum(['Mandatory', 'Conditional', 'Recommended']),
      nulls: z.boolean(),
      type: z.enum(['String', 'Decimal', 'Date/Time', 'JSON']),
      format: z.enum(['unit', 'currency']).optional(),
      values: z.array(z.string()).optional(),
    }),
  ),
});
type Column = z.infer<typeof Columns>['columns'][number];

const file = new URL('../fixtures/focus/columns.json', import.meta.url);
export const FOCUS = Columns.parse(JSON.parse(readFileSync(file, 'utf8')));

const isJson = (text: string): boolean => {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
};

const TYPES: Record<Column['type'], (text: string) => boolean> = {
  String: (text) => text.trim() === text,
  Decimal: (text) => /^-?\d+(?:\.\d+)?$/.test(text),
  'Date/Time': (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(text),
  JSON: isJson,
};

const FORMATS = {
  unit: (text: string) => /^(?:\d+ )?[A-Z][A-Za-z]*s$/.test(text),
  currency: (text: string) => /^[A-Z]{3}$/.test(text),
};

export type Cells = Record<string, string>;

const faultsOf = (column: Column, cells: Cells): string[] => {
  const { id, level, nulls, type, format, values } = column;
  const text = cells[id];
  if (text === undefined) return level === 'Mandatory' ? [`${id} is missing`] : [];
  if (text === '') return nulls ? [] : [`${id} is null`];
  return [
    ...(TYPES[type](text) ? [] : [`${id} is no ${type}: ${text}`]),
    ...(format && !FORMATS[format](text) ? [`${id} is no ${format}: ${text}`] : []),
    ...(values && !values.includes(text) ? [`${id} is not allowed: ${text}`] : []),
  ];
};

const isWithin = (inner: [string, string], outer: [string, string]): boolean =>
  inner[0] >= outer[0] && inner[1] <= outer[1] && inner[0] < inner[1];

/** What the columns require of one another. */
const relationsOf = (cells: Cells): string[] => {
  const of = (id: string): string => cells[id] ?? '';
  const product = Number(of('ListUnitPrice')) * Number(of('PricingQuantity'));
  const isOff = of('ListUnitPrice') !== '' && Math.abs(product - Number(of('ListCost'))) > 5e-10;
  const [charge, billing] = ['ChargePeriod', 'BillingPeriod'].map((name): [string, string] => [
    of(`${name}Start`),
    of(`${name}End`),
  ]);
  return [
    ...(isOff ? [`ListCost ${of('ListCost')} is not ${product}`] : []),
    ...(charge && billing && isWithin(charge, billing) ? [] : ['the periods do not nest']),
    ...(of('PricingQuantity') === '' || of('SkuPriceId') !== '' ? [] : ['SkuPriceId is null']),
    ...(of('PricingQuantity') === '' || Number(of('ListCost')) === 0 || of('ListUnitPrice') !== ''
      ? []
      : ['ListUnitPrice is null']),
    ...Object.keys(cells).flatMap((id) =>
      id.startsWith('x_') || FOCUS.columns.some((column) => column.id === id)
        ? []
        : [`${id} is unknown`],
    ),
  ];
};

/** What of a row the specification does not allow. */
export const focusFaults = (cells: Cells): string[] => [
  ...FOCUS.columns.flatMap((column) => faultsOf(column, cells)),
  ...relationsOf(cells),
];

/** Rows of a CSV file (RFC 4180) by column. */
export const csvRows = (text: string): Cells[] => {
  const lines: string[][] = [[]];
  for (const [, quoted, plain, end] of text.matchAll(
    /(?:"((?:[^"]|"")*)"|([^,"\r\n]*))(,|\r\n|$)/g,
  )) {
    lines.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain ?? '');
    if (end === '\r\n') lines.push([]);
  }
  const [head = [], ...rows] = lines.filter(({ length }) => length > 1);
  return rows.map((row) => Object.fromEntries(head.map((name, index) => [name, row[index] ?? ''])));
};
