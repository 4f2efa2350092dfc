import {
  addressOf,
  methodOf,
  type OperationName,
  type ParametersOf,
} from '../../lambdas/operations.ts';
import { pageBase } from '../settings.ts';
import { failureOf, request } from './failure.ts';
import type { Replies } from './types.ts';

/** The REST API ends a request after 29 s. */
const TIMEOUT_MS = 32_000;

/** Calls an operation; `members` are those of its query or its body. @throws ApiFailure */
export type Api = <Name extends keyof Replies & OperationName>(
  name: Name,
  parameters: ParametersOf<Name>,
  members?: Record<string, unknown>,
) => Promise<Replies[Name]>;

type Options = {
  /** Authorizes a call. */
  headers: () => Promise<Record<string, string>>;
  /** Runs when a response has status 401. */
  onSignedOut: () => void;
};

/** Calls of the admin API under the page's prefix. No call is repeated: a change may have been applied. */
export const createApi =
  ({ headers, onSignedOut }: Options): Api =>
  async (name, parameters, members = {}) => {
    const isRead = methodOf(name) === 'GET';
    const path = addressOf(name, parameters, isRead ? members : {});
    const init = isRead ? {} : { method: 'POST', body: JSON.stringify(members) };
    const type = isRead ? undefined : { 'content-type': 'application/json' };
    const response = await request(new URL(`dashboard/api${path}`, pageBase), {
      ...init,
      headers: { ...type, ...(await headers()) },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (response.status === 401) onSignedOut();
    if (!response.ok) throw await failureOf(response);
    return response.json();
  };
