import { type AdminClient, pagesOf, requestFor } from './admin-client.ts';
import { CliError, usageError } from './cli-error.ts';
import type { CommandInput } from './command.ts';
import type { Env } from './connection.ts';
import { plural, type Row, rowsIn, textOf } from './format.ts';
import { type Options, required } from './options.ts';
import { ANY_MODEL, type Billed, PROVIDERS, readInvoice } from './provider-costs.ts';

/** Of `2026-10`. */
const monthIn = (text: string): { from: Date; to: Date } => {
  const [year = 0, month = 0] = text.split('-').map(Number);
  return { from: new Date(Date.UTC(year, month - 1)), to: new Date(Date.UTC(year, month)) };
};

/** Both sides of one kind of a model on a day. */
type Line = {
  ours: { quantity: number; nanos: number; estimated: number; unpriced: boolean };
  theirs: { quantity?: number; nanos?: number };
};
type Lines = Map<string, Line>;

const lineAt = (lines: Lines, { day, model, kind }: Pick<Billed, 'day' | 'model' | 'kind'>) => {
  const name = [day, model, kind].join('|');
  const line = lines.get(name) ?? {
    ours: { quantity: 0, nanos: 0, estimated: 0, unpriced: false },
    theirs: {},
  };
  lines.set(name, line);
  return line;
};

/** A dated snapshot of a model: providers report it, and callers often ask for the model without its date. */
const withoutDate = (model: string): string => model.replace(/-(?:20\d\d-\d\d-\d\d|20\d{6})$/, '');

const USES = new Set(['web_search', 'code_execution', 'web_fetch']);

type Kind = { kind: string; quantity: number; cost_nanos: number };

/** Adds what the records have of the requests that the upstream answered. */
const addOurs = async (
  lines: Lines,
  send: AdminClient,
  { from, to, upstream }: { from: Date; to: Date; upstream: string },
): Promise<void> => {
  const range = { from: from.toISOString(), to: to.toISOString() };
  const { path } = requestFor('export', { format: 'ndjson' }, range);
  for await (const { data } of pagesOf(send, { method: 'GET', path })) {
    for (const row of rowsIn(data)) {
      if (row.provider === upstream) addRecord(lines, row);
    }
  }
};

const addRecord = (lines: Lines, row: Row): void => {
  const day = textOf(row.time).slice(0, 10);
  const incomplete = textOf(row.cost_incomplete).split(' ');
  for (const { kind, quantity, cost_nanos: nanos } of rowsIn<Kind>(row.kinds)) {
    const model = USES.has(kind) ? ANY_MODEL : withoutDate(textOf(row.provider_model));
    const { ours } = lineAt(lines, { day, model, kind });
    ours.quantity += quantity;
    ours.nanos += nanos;
    if (row.cost_source === 'estimated') ours.estimated += 1;
    if (incomplete.includes(kind)) ours.unpriced = true;
  }
};

const addTheirs = (lines: Lines, billed: Billed): void => {
  const { theirs } = lineAt(lines, { ...billed, model: withoutDate(billed.model) });
  if (billed.quantity !== undefined) theirs.quantity = (theirs.quantity ?? 0) + billed.quantity;
  if (billed.nanos !== undefined) theirs.nanos = (theirs.nanos ?? 0) + billed.nanos;
};

/** Above a thousandth and a cent. */
const isNotable = (difference: number, theirs: number): boolean =>
  Math.abs(difference) > 10_000_000 && Math.abs(difference) > Math.abs(theirs) / 1_000;

const perMillion = (nanos: number, quantity: number): string =>
  `$${Number((nanos / quantity / 1_000).toPrecision(6))} a million`;

const reasonOf = ({ ours, theirs }: Line, isDifferent: boolean): string => {
  if (!isDifferent) return '';
  const { quantity = 0, nanos = 0 } = theirs;
  if (theirs.quantity === undefined && theirs.nanos === undefined)
    return 'not in the report: not billed yet, or of another account';
  if (ours.unpriced) return 'the catalog has no price for it';
  if (ours.quantity === 0)
    return 'requests that did not go through the router, or a kind it does not see';
  if (quantity === ours.quantity || theirs.quantity === undefined)
    return quantity === 0
      ? 'other prices than those of the catalog'
      : `price: ${perMillion(nanos, quantity)}, the catalog has ${perMillion(ours.nanos, quantity)}`;
  if (ours.estimated > 0) return `the counts of ${plural(ours.estimated, 'request')} are estimated`;
  return quantity > ours.quantity
    ? 'others use the account, or attempts that the router gave up were generated on'
    : 'not billed yet, or retries that the provider does not bill';
};

const dollars = (nanos: number | undefined): number | null =>
  nanos === undefined ? null : nanos / 1e9;

const rowOf = ([name, line]: [string, Line]): Row => {
  const [day = '', model = '', kind = ''] = name.split('|');
  const { ours, theirs } = line;
  const hasCost = theirs.nanos !== undefined || theirs.quantity === undefined;
  const difference = hasCost ? ours.nanos - (theirs.nanos ?? 0) : 0;
  const isCounted = theirs.quantity === undefined || theirs.quantity === ours.quantity;
  const isDifferent = isNotable(difference, theirs.nanos ?? 0) || (!isCounted && !hasCost);
  return {
    ...{ day, model, kind },
    our_quantity: ours.quantity,
    their_quantity: theirs.quantity ?? null,
    our_usd: dollars(ours.nanos),
    their_usd: dollars(theirs.nanos),
    difference_usd: dollars(difference),
    reason: reasonOf(line, isDifferent),
  };
};

const readCredential = async ({ secret, region, profile }: Options, variable: string, env: Env) => {
  if (secret === undefined) {
    const credential = env[variable];
    if (credential) return credential;
    throw usageError(`Set ${variable}, an admin credential of the provider, or pass --secret.`);
  }
  const { readSecretOf } = await import('./deployed-stack.ts');
  const text = await readSecretOf(secret, { region, profile });
  if (!text.trimStart().startsWith('{')) return text;
  const member: unknown = (JSON.parse(text) as Row)[variable];
  if (typeof member === 'string') return member;
  throw new CliError(1, `The secret ${secret} has no member ${variable}.`);
};

const theirsOf = async ({
  options,
  env,
}: CommandInput): Promise<AsyncIterable<Billed> | Billed[]> => {
  if (options.invoice !== undefined) return readInvoice(options.invoice);
  const name = required(options, 'provider');
  const provider = PROVIDERS[name];
  if (!provider)
    throw usageError(`--provider must be ${Object.keys(PROVIDERS).join(' or ')} (got '${name}').`);
  const credential = await readCredential(options, provider.credential, env);
  const baseUrl = env[provider.address] ?? provider.baseUrl;
  const month = monthIn(required(options, 'month'));
  return provider.read({ baseUrl, headers: provider.headersOf(credential) }, month);
};

/** What the router and a provider, or its invoice, have of a month: by day, model and kind. */
export const reconcileProvider = async (
  input: CommandInput,
  { send }: { send: AdminClient },
): Promise<Row> => {
  const { options } = input;
  const month = monthIn(required(options, 'month'));
  const upstream = options.upstream ?? required(options, 'provider');
  const theirs = await theirsOf(input);
  const lines: Lines = new Map();
  await addOurs(lines, send, { ...month, upstream });
  const isWithin = (day: string) => day.startsWith(options.month ?? '');
  for await (const billed of theirs) if (isWithin(billed.day)) addTheirs(lines, billed);
  const all = [...lines].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const sum = (side: 'ours' | 'theirs') =>
    all.reduce((total, [, line]) => total + (line[side].nanos ?? 0), 0);
  const [ours, their] = [sum('ours'), sum('theirs')];
  const totals = { our_usd: dollars(ours), their_usd: dollars(their) };
  return { data: all.map(rowOf), ...totals, difference_usd: dollars(ours - their) };
};

export const PROVIDER_COLUMNS = [
  ...['day', 'model', 'kind', 'our_quantity', 'their_quantity', 'our_usd', 'their_usd'],
  ...['difference_usd', 'reason'],
];
