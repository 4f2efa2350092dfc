import * as z from 'zod';
import type { Sign } from './admin-client.ts';
import type { Check } from './check.ts';
import { messageOf } from './cli-error.ts';

const CHECK = 'quota';
/** Each response in flight uses one environment; new accounts have 10. */
const LOW_CONCURRENCY = 100;
const TIMEOUT_MS = 10_000;

const AccountSettings = z.object({ AccountLimit: z.object({ ConcurrentExecutions: z.number() }) });
const Concurrency = z.object({ ReservedConcurrentExecutions: z.number().optional() });

export type LambdaApi = {
  /** Address of Lambda's API in the stack's region. */
  endpoint: string;
  sign: Sign;
  functionName: string;
};

const read = async <T>(api: LambdaApi, path: string, schema: z.ZodType<T>): Promise<T> => {
  const url = new URL(path, api.endpoint);
  const request = { method: 'GET', url, headers: { host: url.host }, body: '' };
  const { host: _, ...headers } = await api.sign(request);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(url, { headers, redirect: 'error', signal });
  if (!response.ok) throw new Error(`Lambda answered ${response.status}`);
  return schema.parse(await response.json());
};

const accountCheck = (limit: number): Check =>
  limit < LOW_CONCURRENCY
    ? {
        check: CHECK,
        result: 'warning',
        place: 'Concurrent executions',
        reason: `The account allows ${limit} concurrent responses: raise it in Service Quotas.`,
      }
    : { check: CHECK, result: 'ok', reason: `${limit} concurrent responses in the account` };

const reservedChecks = (reserved: number | undefined): Check[] =>
  reserved === 0
    ? [
        {
          check: CHECK,
          result: 'failed',
          place: 'reservedConcurrency',
          reason: 'The kill switch is set: reserved concurrency is 0, every request is rejected.',
        },
      ]
    : [];

/** Checks the concurrency of account and function, with the operator's own credentials. */
export const checkLambdaQuotas = async (api: LambdaApi): Promise<Check[]> => {
  try {
    const [{ AccountLimit }, { ReservedConcurrentExecutions }] = await Promise.all([
      read(api, '/2016-08-19/account-settings/', AccountSettings),
      read(api, `/2019-09-30/functions/${api.functionName}/concurrency`, Concurrency),
    ]);
    return [
      accountCheck(AccountLimit.ConcurrentExecutions),
      ...reservedChecks(ReservedConcurrentExecutions),
    ];
  } catch (error) {
    const reason = `Not checked: ${messageOf(error)}. It needs lambda:GetAccountSettings and lambda:GetFunctionConcurrency.`;
    return [{ check: CHECK, result: 'warning', place: 'Concurrent executions', reason }];
  }
};
