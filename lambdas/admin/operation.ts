import type { JsonReply } from '../endpoints/endpoint.ts';

/** An operator's request, past the shared middlewares. */
export type AdminRequest = {
  /** What the path's `{placeholders}` stood for, percent-decoded. */
  parameters: Record<string, string>;
  /** Parameters of the query, decoded. */
  query: Readonly<Record<string, string>>;
  /** Parsed JSON of the body; undefined for GET. */
  body: unknown;
};

/** What an admin route does. @throws ApiError */
export type AdminOperation = (operation: AdminRequest) => Promise<JsonReply>;

export type AdminRoute = {
  method: 'GET' | 'POST';
  /** A path; each `{name}` takes one segment. */
  pattern: string;
  operate: AdminOperation;
};
