export type Asked = {
  path: string;
  key: string;
  model: string;
  stream?: boolean;
  signal?: AbortSignal;
};

/** One generation of either family, of eight words. */
export const askFor = (
  url: string,
  { path, key, model, stream = false, signal }: Asked,
): Promise<Response> =>
  fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      stream,
      max_tokens: 50,
      messages: [{ role: 'user', content: 'say one two three four five six seven eight' }],
    }),
    ...(signal && { signal }),
  });
