import { useLayoutEffect, useState } from 'preact/hooks';

/** The hash of the address: `#/requests/req_1?project=team`. The server knows one document. */
export type Route = { page: string; id: string | undefined; query: URLSearchParams };

/** The text itself where it is not percent-encoded, as of a cut address. */
const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const readRoute = (): Route => {
  const [path = '', query] = location.hash.slice(2).split('?');
  const [page = '', id] = path.split('/');
  return { page, id: id === undefined ? id : decode(id), query: new URLSearchParams(query) };
};

/** A link to a page of the console; members of the query without a value are left out. */
export const hrefOf = (
  page: string,
  { id, ...query }: Record<string, string | undefined> = {},
): string => {
  const set = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value]] : []));
  const text = new URLSearchParams(set).toString();
  return `#/${page}${id ? `/${encodeURIComponent(id)}` : ''}${text ? `?${text}` : ''}`;
};

/** Shows another address in place of this one, at once: going back leaves the page. */
export const replaceHash = (hash: string): void => {
  history.replaceState(null, '', hash);
  dispatchEvent(new HashChangeEvent('hashchange'));
};

export const useRoute = (): Route => {
  const [route, setRoute] = useState(readRoute);
  // Before the next change of the address, which an effect after the frame would miss.
  useLayoutEffect(() => {
    const onHash = () => setRoute(readRoute());
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  return route;
};
