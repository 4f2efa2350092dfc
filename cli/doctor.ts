import { type AdminClient, requestFor } from './admin-client.ts';
import type { Check } from './check.ts';
import { CliError, messageOf } from './cli-error.ts';
import type { CommandInput } from './command.ts';
import type { Connection } from './connection.ts';
import { rowsIn } from './format.ts';

type Target = { place: string; model: string; upstream: string; calls: string[] };

/** Calls at a time: providers count them against their limits. */
const CONCURRENT = 4;

/** SigV4 accepts 5 minutes; keys that expire and periods are wrong by less. Seconds. */
const MAX_SKEW_S = 300;
const NOTABLE_SKEW_S = 5;

const PROBE_MS = 10_000;

/** The router read `now` at some time of the call, which a cold start makes long: `from` and `until` on this machine. */
export const checkClock = (now: unknown, from: number, until: number): Check => {
  const check = 'clock';
  const router = Date.parse(String(now));
  const skew = Math.round((router - Math.min(Math.max(router, from), until)) / 1000);
  if (Number.isNaN(skew)) return { check, result: 'failed', reason: 'The router sent no time.' };
  const reason = `The router is ${Math.abs(skew)} s ${skew < 0 ? 'behind' : 'ahead of'} this machine.`;
  if (Math.abs(skew) > MAX_SKEW_S) return { check, result: 'failed', place: 'clock', reason };
  if (Math.abs(skew) > NOTABLE_SKEW_S) return { check, result: 'warning', place: 'clock', reason };
  return { check, result: 'ok' };
};

/** Whether the address is a router's: `GET /` answers 200 with its name, without a key. */
const checkEndpoint = async (name: string, url: string): Promise<Check> => {
  const check = `endpoint ${name}`;
  const startedAt = performance.now();
  try {
    const response = await fetch(`${url.replace(/\/$/, '')}/`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(PROBE_MS),
    });
    await response.arrayBuffer();
    const ms = Math.round(performance.now() - startedAt);
    const isRouter = response.status === 200 && response.headers.has('x-request-id');
    const reason = `${url} answers ${response.status}, not as a model router.`;
    return isRouter
      ? { check, result: 'ok', ms }
      : { check, result: 'failed', place: name, reason };
  } catch (error) {
    const cause = error instanceof Error && error.cause ? error.cause : error;
    const reason = `No response from ${url}: ${messageOf(cause)}.`;
    return { check, result: 'failed', place: name, reason };
  }
};

/** Runs `work` for every item, a few at a time, and keeps their order. */
const inTurns = async <T, R>(items: T[], work: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = [];
  const entries = items.entries();
  const worker = async () => {
    for (const [index, item] of entries) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: CONCURRENT }, worker));
  return results;
};

const testTargets = async (
  send: AdminClient,
  targets: Target[],
  expect: CommandInput['expect'],
): Promise<Check[]> => {
  const calls = targets.flatMap((target) => target.calls.map((call) => ({ target, call })));
  expect(calls.length);
  return inTurns(calls, async ({ target: { place, model, upstream }, call }) => {
    const about = { check: `${call} call`, model, upstream };
    try {
      const outcome = await send(requestFor('targets.test', {}, { place, call }));
      return { ...about, ...outcome, ...about } as Check;
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      return { ...about, result: 'failed', place, reason: error.message };
    }
  });
};

/** Makes one call of each kind to every target, or to those of one model. @throws CliError 1 */
export const runTargetTests = async (
  { send }: Connection,
  { operands: [model], expect }: Pick<CommandInput, 'operands' | 'expect'>,
): Promise<Check[]> => {
  const { targets } = await send(requestFor('checks'));
  const all = rowsIn<Target>(targets);
  const wanted = all.filter((target) => model === undefined || target.model === model);
  if (wanted.length > 0) return testTargets(send, wanted, expect);
  const ids = [...new Set(all.map((target) => target.model))].join(', ');
  throw new CliError(1, `The catalog has no model '${model}'. It has: ${ids}.`);
};

/** An error of the admin API is a finding; any other is a bug. @throws the bug */
const unreachable = (error: unknown): CliError => {
  if (error instanceof CliError) return error;
  throw error;
};

/** Checks endpoints, clock, quotas, catalog, secret, tables and, unless `--no-calls`, every target. */
export const runDoctor = async (
  { send, addresses, checkQuotas }: Connection,
  { now, options, expect }: Pick<CommandInput, 'now' | 'options' | 'expect'>,
): Promise<Check[]> => {
  const startedAt = performance.now();
  const endpoints = Object.entries(addresses).map(([name, url]) => checkEndpoint(name, url));
  const [found, quotas, answer] = await Promise.all([
    Promise.all(endpoints),
    checkQuotas(),
    send(requestFor('checks')).catch(unreachable),
  ]);
  const answeredAt = now + performance.now() - startedAt;
  if (answer instanceof CliError) {
    const check = 'admin API';
    return [...found, ...quotas, { check, result: 'failed', place: check, reason: answer.message }];
  }
  const targets = options['no-calls'] ? [] : rowsIn<Target>(answer.targets);
  return [
    ...found,
    checkClock(answer.now, now, answeredAt),
    ...quotas,
    ...rowsIn<Check>(answer.checks),
    ...(await testTargets(send, targets, expect)),
  ];
};
