/** As many entries as the catalog has targets, times the paths of a protocol. */
const urls = new Map<string, URL>();

/** URL of a target: `path` below its base URL; the queries of both are kept. */
export const urlOf = (baseUrl: string, path: string): URL => {
  const name = `${baseUrl} ${path}`;
  const known = urls.get(name);
  if (known) return known;
  const url = new URL(baseUrl);
  const [pathname = '', query] = path.split('?');
  url.pathname = url.pathname.replace(/\/$/, '') + pathname;
  if (query !== undefined) url.search += url.search === '' ? query : `&${query}`;
  urls.set(name, url);
  return url;
};
