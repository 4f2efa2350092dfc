/** The endpoints that read a body, and the one that lists. */
export type On = 'chat' | 'messages' | 'count' | 'models';

export const PATHS: Record<On, string> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  count: '/v1/messages/count_tokens',
  models: '/v1/models',
};

/** A request about to be sent. `body` is JSON unless it is bytes or a text of its own. */
export type Draft = {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | Uint8Array | undefined;
};

/** Keys in every state. */
export type Keys = {
  valid: string;
  other: string;
  unknown: string;
  revoked: string;
  expired: string;
  inGrace: string;
  afterGrace: string;
};

export type Row = {
  /** In words; the number is the catalogue's. */
  name: string;
  on: On[];
  status: number;
  /** What the status implies unless given. */
  type?: string;
  change: (draft: Draft, keys: Keys) => Partial<Draft>;
};

export const POSTS: On[] = ['chat', 'messages', 'count'];
export const MESSAGES: On[] = ['messages', 'count'];
export const ALL: On[] = [...POSTS, 'models'];

const USER = [{ role: 'user', content: 'canary-prompt' }];

/** A good body of the endpoint, as an object. */
export const bodyOf = (on: On): Record<string, unknown> => ({
  model: 'vendor/model',
  messages: USER,
  ...(on === 'messages' ? { max_tokens: 10 } : {}),
});

export const draftFor = (on: On, { valid }: Keys): Draft => ({
  method: on === 'models' ? 'GET' : 'POST',
  path: PATHS[on],
  headers: { authorization: `Bearer ${valid}`, 'content-type': 'application/json' },
  body: on === 'models' ? undefined : JSON.stringify(bodyOf(on)),
});

/** A row that differs from a good request in members of its body. */
export const fields = (
  name: string,
  on: On[],
  status: number,
  change: Record<string, unknown>,
): Row => ({
  name,
  on,
  status,
  change: ({ body }) => ({
    body: JSON.stringify({ ...JSON.parse(String(body ?? '{}')), ...change }),
  }),
});

/** A row whose body is sent as it stands. */
export const raw = (name: string, on: On[], status: number, body: string | Uint8Array): Row => ({
  name,
  on,
  status,
  change: () => ({ body }),
});

/** A row that differs in headers; the key goes with it unless they name one. */
export const headers = (
  name: string,
  on: On[],
  status: number,
  change: (keys: Keys) => Record<string, string>,
): Row => ({
  name,
  on,
  status,
  change: (draft, keys) => ({ headers: { ...draft.headers, ...change(keys) } }),
});

/** A row about the key: whatever carries it is all that is sent beside the content type. */
export const auth = (
  name: string,
  on: On[],
  status: number,
  change: (keys: Keys) => Record<string, string>,
): Row => ({
  name,
  on,
  status,
  change: (_, keys) => ({ headers: { 'content-type': 'application/json', ...change(keys) } }),
});

export const path = (name: string, status: number, to: string, method = 'GET'): Row => ({
  name,
  on: ['models'],
  status,
  change: () => ({ path: to, method }),
});
