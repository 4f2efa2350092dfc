import { lookup as lookUp } from 'node:dns';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import type { PostJson } from './deliver.ts';

/** A receiver that says nothing for so long is away. Milliseconds. */
const TIMEOUT_MS = 5_000;

/** This machine, its neighbours and the addresses of metadata: what no receiver of alerts has. */
const INNER = new BlockList();
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
] as const) {
  INNER.addSubnet(net, prefix);
}
for (const [net, prefix] of [
  ['::', 127],
  ['fe80::', 10],
  ['fc00::', 7],
] as const) {
  INNER.addSubnet(net, prefix, 'ipv6');
}

/** Also in an IPv4 address that is written as an IPv6 one. */
export const isInner = (address: string): boolean => {
  const family = isIP(address);
  if (family === 0) return true;
  return INNER.check(address, family === 6 ? 'ipv6' : 'ipv4');
};

const refused = () => new Error('The receiver has an inner address.');

/** Looks at the address that the connection is made to, so that a name cannot change between a check and the call. */
const createLookup =
  (mayConnect: (address: string) => boolean): LookupFunction =>
  (hostname, options, callback) =>
    lookUp(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, '', 4);
      const [first] = found;
      if (!first || !found.every(({ address }) => mayConnect(address))) {
        return callback(refused(), '', 4);
      }
      return options.all ? callback(null, found) : callback(null, first.address, first.family);
    });

/** Posts without following a redirection; the body of the answer is not read. */
export const createPostJson = (mayConnect: (address: string) => boolean): PostJson => {
  const lookup = createLookup(mayConnect);
  return (url, body, headers) =>
    new Promise((resolve, reject) => {
      const { protocol, hostname } = new URL(url);
      const host = hostname.replaceAll(/^\[|\]$/g, '');
      if (isIP(host) !== 0 && !mayConnect(host)) return reject(refused());
      const send = protocol === 'https:' ? requestHttps : requestHttp;
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const options = { method: 'POST', headers, lookup, signal, agent: false };
      const request = send(url, options, (response) => {
        response.destroy();
        resolve({ status: response.statusCode ?? 0 });
      });
      request.on('error', reject).end(body);
    });
};
