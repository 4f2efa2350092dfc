import { generateKeyPairSync, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';

/** The length of an element in DER: one byte, or the number of its bytes and they. */
const lengthOf = (size: number): number[] => {
  if (size < 0x80) return [size];
  return size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
};

/** An element of ASN.1 in DER. */
const element = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), content]);
};
const sequence = (...parts: Uint8Array[]): Buffer => element(0x30, ...parts);
const integer = (value: number): Buffer => element(0x02, Buffer.from([value]));
const time = (text: string): Buffer => element(0x17, Buffer.from(text));

const COMMON_NAME = Buffer.from('0603550403', 'hex');
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex');
const ECDSA_WITH_SHA256 = sequence(Buffer.from('06082a8648ce3d040302', 'hex'));
const NAME = sequence(element(0x31, sequence(COMMON_NAME, element(0x0c, Buffer.from('test')))));
/** The years that the two digits of the format cover. */
const ALWAYS = sequence(time('500101000000Z'), time('491231235959Z'));

const pem = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;

/** A name of DNS, or an address of IPv4. */
const altName = (host: string): Buffer =>
  isIPv4(host)
    ? element(0x87, Buffer.from(host.split('.').map(Number)))
    : element(0x82, Buffer.from(host));

/** A certificate of X.509 (RFC 5280) for these hosts, signed by its key, which is new each time. */
export const createCertificate = (hosts: string[]): { key: string; cert: string } => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const names = sequence(...hosts.map(altName));
  const extension = sequence(SUBJECT_ALT_NAME, element(0x04, names));
  const body = sequence(
    element(0xa0, integer(2)),
    integer(1),
    ECDSA_WITH_SHA256,
    NAME,
    ALWAYS,
    NAME,
    publicKey.export({ type: 'spki', format: 'der' }),
    element(0xa3, sequence(extension)),
  );
  const signature = element(0x03, Buffer.from([0]), sign('sha256', body, privateKey));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: pem(sequence(body, ECDSA_WITH_SHA256, signature)),
  };
};
