export type Asked = {
  path: string;
  key: string;
  model: string;
  stream?: boolean;
  idempotencyKey?: string;
  signal?: AbortSignal;
};

const TURNS = [{ role: 'user', content: 'say one two three four five six seven eight' }];

/** One generation on any of the three routes, of eight words. */
export const askFor = (
  url: string,
  { path, key, model, stream = false, idempotencyKey, signal }: Asked,
): Promise<Response> => {
  const conversation =
    path === '/v1/responses' ? { input: TURNS } : { max_tokens: 50, messages: TURNS };
  return fetch(`${url}${path}`, {
    method: 'POST',
    headers: {
      'x-api-key': key,
      'content-type': 'application/json',
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify({ model, stream, ...conversation }),
    ...(signal && { signal }),
  });
};
