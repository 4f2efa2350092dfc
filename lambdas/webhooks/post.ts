import { lookup as lookUp } from 'node:dns';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import type { PostJson } from './send.ts';

/** A receiver that says nothing for so long is away. Milliseconds. */
const TIMEOUT_MS = 5_000;

/** This machine, its neighbours, private networks, the addresses of metadata, and those that reach no machine or a translated one. */
const INNER = new BlockList();
for (const net of [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16'],
  ...['172.16.0.0/12', '192.0.0.0/24', '192.168.0.0/16', '198.18.0.0/15', '224.0.0.0/3'],
  ...['::/96', '64:ff9b::/32', '2001::/32', '2002::/16', 'fc00::/7', 'fe80::/9', 'ff00::/8'],
]) {
  const [address = '', prefix] = net.split('/');
  INNER.addSubnet(address, Number(prefix), isIP(address) === 6 ? 'ipv6' : 'ipv4');
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

const hostOf = ({ hostname }: URL): string => hostname.replaceAll(/^\[|\]$/g, '');

const LOCAL_NAME = /(?:^|\.)(?:localhost|local|internal)\.?$/;

/** Whether a URL shows an inner address without a look-up: as a number in any form, or as a name of this machine or network. */
export const namesInner = (url: URL): boolean => {
  const host = hostOf(url);
  return LOCAL_NAME.test(host) || (isIP(host) !== 0 && isInner(host));
};

/** Posts without following a redirection; the body of the answer is not read. */
export const createPostJson = (mayConnect: (address: string) => boolean): PostJson => {
  const lookup = createLookup(mayConnect);
  return (url, body, headers) =>
    new Promise((resolve, reject) => {
      const address = new URL(url);
      const host = hostOf(address);
      if (isIP(host) !== 0 && !mayConnect(host)) return reject(refused());
      const send = address.protocol === 'https:' ? requestHttps : requestHttp;
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const options = { method: 'POST', headers, lookup, signal, agent: false };
      const request = send(url, options, (response) => {
        response.destroy();
        resolve({ status: response.statusCode ?? 0 });
      });
      request.on('error', reject).end(body);
    });
};
