import { pageBase } from '../settings.ts';
import { failureOf } from './failure.ts';
import { request } from './request.ts';

/** The REST API ends a request after 29 s. */
const TIMEOUT_MS = 32_000;

export type Query = Record<string, string | number | undefined>;

export type Api = {
  get: <T>(path: string, query?: Query) => Promise<T>;
  post: <T>(path: string, body?: object) => Promise<T>;
};

type Options = {
  /** Authorizes a call. */
  headers: () => Promise<Record<string, string>>;
  /** Runs when a response has status 401. */
  onSignedOut: () => void;
};

const addressOf = (path: string, query: Query): URL => {
  const url = new URL(`dashboard/api/${path}`, pageBase);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') url.searchParams.set(name, String(value));
  }
  return url;
};

/** Calls of the admin API under the page's prefix. No call is repeated: a change may have been applied. */
export const createApi = ({ headers, onSignedOut }: Options): Api => {
  const call = async <T>(url: URL, init: RequestInit): Promise<T> => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const authorized = { ...init.headers, ...(await headers()) };
    const response = await request(url, { ...init, headers: authorized, signal });
    if (response.status === 401) onSignedOut();
    if (!response.ok) throw await failureOf(response);
    return (await response.json()) as T;
  };
  return {
    get: (path, query = {}) => call(addressOf(path, query), {}),
    post: (path, body = {}) =>
      call(addressOf(path, {}), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  };
};
