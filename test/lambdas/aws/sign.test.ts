import { SignatureV4 } from '@smithy/signature-v4';
import { describe, expect, test } from 'vitest';
import { type AwsCredentials, createSigner } from '../../../lambdas/aws/sign.ts';
import { Sha256 } from '../../support/aws-sha256.ts';
import { fc } from '../../support/seeds.ts';

const CREDENTIALS = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};
const SESSION_TOKEN =
  'AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==';
const EXAMPLE = { method: 'POST', url: new URL('https://example.amazonaws.com/') };
const EXAMPLE_TIME = Date.UTC(2015, 7, 30, 12, 36);

const signerOf = (credentials: AwsCredentials, service = 'service') =>
  createSigner(service, { region: 'us-east-1', credentials: async () => credentials });

type Vector = { headers?: Record<string, string>; body?: string; sessionToken?: string };

/** The POSTs of AWS's published test suite for Signature Version 4 that have no query. */
const VECTORS: [name: string, vector: Vector, signedHeaders: string, signature: string][] = [
  [
    'post-vanilla',
    {},
    'host;x-amz-date',
    '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  ],
  [
    'post-header-key-sort',
    { headers: { 'my-header1': 'value1' } },
    'host;my-header1;x-amz-date',
    'c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c',
  ],
  [
    'post-header-value-case',
    { headers: { 'my-header1': 'VALUE1' } },
    'host;my-header1;x-amz-date',
    'cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d',
  ],
  [
    'post-x-www-form-urlencoded',
    { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'Param1=value1' },
    'content-type;host;x-amz-date',
    'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  ],
  [
    'post-sts-header-before',
    { sessionToken: SESSION_TOKEN },
    'host;x-amz-date;x-amz-security-token',
    '85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead',
  ],
];

const text = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 40 });
const headerValue = fc
  .stringMatching(/^[!-~]([ -~]{0,30}[!-~])?$/)
  .map((value) => value.replaceAll(/ +/g, ' '));

const arbitraryCall = fc.record({
  service: fc.constantFrom('dynamodb', 'secretsmanager'),
  accessKeyId: fc.stringMatching(/^[A-Z0-9]{16,20}$/),
  secretAccessKey: text,
  sessionToken: fc.option(fc.stringMatching(/^[A-Za-z0-9/+=]{20,60}$/), { nil: undefined }),
  host: fc.constantFrom('dynamodb.eu-west-1.amazonaws.com', 'localhost:8000', '[::1]:8000'),
  path: fc.constantFrom('/', '/aws', '/aws/', '/a-b_c.d~e/f', '/a%20b'),
  headers: fc.dictionary(fc.stringMatching(/^x-[a-z]{1,8}(-[a-z]{1,8})?$/), headerValue),
  body: fc.string({ unit: 'grapheme', maxLength: 200 }),
  now: fc.integer({ min: 0, max: Date.UTC(2099, 11, 31) }),
});

describe('the signature of an AWS call', () => {
  test.each(VECTORS)(
    "the signature of AWS's example %s is the published one",
    async (_, vector, names, signature) => {
      const { headers = {}, body = '', ...token } = vector;
      const sign = signerOf({ ...CREDENTIALS, ...token });
      const signed = await sign({ ...EXAMPLE, headers, body }, EXAMPLE_TIME);
      expect(signed).toMatchObject({
        ...headers,
        host: 'example.amazonaws.com',
        'x-amz-date': '20150830T123600Z',
        authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=${names}, Signature=${signature}`,
      });
      expect(signed['x-amz-security-token']).toBe(vector.sessionToken);
    },
  );

  test("random calls get the same headers as from AWS's own signer", async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryCall, async (call) => {
        const { service, accessKeyId, secretAccessKey, sessionToken, headers, body, now } = call;
        const credentials = {
          accessKeyId,
          secretAccessKey,
          ...(sessionToken !== undefined && { sessionToken }),
        };
        const url = new URL(`http://${call.host}${call.path}`);
        const theirs = new SignatureV4({
          ...{ service, region: 'us-east-1', credentials, sha256: Sha256, applyChecksum: false },
        });
        const expected = await theirs.sign(
          {
            ...{ method: 'POST', protocol: url.protocol, hostname: url.hostname },
            ...{ path: url.pathname, headers: { ...headers, host: url.host }, body },
          },
          { signingDate: new Date(now) },
        );
        const signed = await signerOf(credentials, service)(
          { method: 'POST', url, headers, body },
          now,
        );
        expect(signed).toEqual(expected.headers);
      }),
      { numRuns: 200 },
    );
  });

  test('one signer follows a new day and rotated credentials', async () => {
    let credentials: AwsCredentials = CREDENTIALS;
    const sign = createSigner('service', {
      region: 'us-east-1',
      credentials: async () => credentials,
    });
    const call = { ...EXAMPLE, headers: {}, body: '' };
    const ofFresh = (now: number) => signerOf(credentials)(call, now);
    const nextDay = EXAMPLE_TIME + 86_400_000;
    expect(await sign(call, EXAMPLE_TIME)).toEqual(await ofFresh(EXAMPLE_TIME));
    expect(await sign(call, nextDay)).toEqual(await ofFresh(nextDay));
    credentials = { accessKeyId: 'AKIDROTATED', secretAccessKey: 'rotated' };
    expect(await sign(call, nextDay)).toEqual(await ofFresh(nextDay));
    credentials = CREDENTIALS;
    expect(await sign(call, EXAMPLE_TIME)).toEqual(await ofFresh(EXAMPLE_TIME));
  });
});
