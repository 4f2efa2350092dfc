import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '../../local/loopback.ts';

const sha256 = (data: string): string => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, data: string): Buffer =>
  createHmac('sha256', key).update(data).digest();

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;

export type Verdict = { accessKeyId: string; region: string; service: string; isValid: boolean };

/** Checks a signature (SigV4) by the algorithm's public description, apart from what made it. */
const verifySignature = (
  request: IncomingMessage,
  body: string,
  secretAccessKey: string,
): Verdict | undefined => {
  const match = AUTHORIZATION.exec(request.headers.authorization ?? '');
  if (!match) return undefined;
  const [, accessKeyId = '', date = '', region = '', service = '', signed = '', signature = ''] =
    match;
  const [path = '', query = ''] = (request.url ?? '').split('?');
  const names = signed.split(';');
  const canonical = [
    request.method,
    path.split('/').map(encodeURIComponent).join('/'),
    query,
    ...names.map((name) => `${name}:${String(request.headers[name] ?? '').trim()}`),
    '',
    signed,
    sha256(body),
  ].join('\n');
  const time = String(request.headers['x-amz-date'] ?? '');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const key = [date, region, service, 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${secretAccessKey}`,
  );
  const isValid =
    hmac(key, toSign).toString('hex') === signature &&
    ['host', 'x-amz-date'].every((name) => names.includes(name)) &&
    time.startsWith(date);
  return { accessKeyId, region, service, isValid };
};

const describeStacks = (name: string, outputs: Record<string, string>): string => {
  const members = Object.entries(outputs).map(
    ([key, value]) =>
      `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`,
  );
  return `<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><DescribeStacksResult><Stacks><member><StackName>${name}</StackName><StackStatus>CREATE_COMPLETE</StackStatus><CreationTime>2026-11-21T00:00:00Z</CreationTime><Outputs>${members.join('')}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`;
};

const NO_SUCH_STACK =
  '<ErrorResponse><Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id nope does not exist</Message></Error></ErrorResponse>';

/** CloudFormation with one stack, and API Gateway with IAM in front of `behind`, both on loopback. */
export const startAwsStandIn = async (options: {
  stack: string;
  secretAccessKey: string;
  /** Address that requests with a valid signature are passed on to. */
  behind: string;
}) => {
  const { stack, secretAccessKey, behind } = options;
  const verdicts: (Verdict | undefined)[] = [];
  const gateway = await listen(
    createServer(async (request, response) => {
      const body = await text(request);
      const verdict = verifySignature(request, body, secretAccessKey);
      verdicts.push(verdict);
      if (!verdict?.isValid) {
        response.writeHead(403).end(JSON.stringify({ message: 'The signature does not match.' }));
        return;
      }
      const path = (request.url ?? '').replace(/^\/prod/, '');
      const answer = await fetch(`${behind}${path}`, {
        method: request.method ?? 'GET',
        headers: { 'content-type': 'application/json' },
        ...(body !== '' && { body }),
      });
      response.writeHead(answer.status).end(await answer.text());
    }),
  );
  const cloudFormation = await listen(
    createServer(async (request, response) => {
      const isKnown = (await text(request)).includes(`StackName=${stack}`);
      response.writeHead(isKnown ? 200 : 400, { 'content-type': 'text/xml' });
      response.end(
        isKnown ? describeStacks(stack, { RestApiUrl: `${gateway.url}/prod/` }) : NO_SUCH_STACK,
      );
    }),
  );
  return {
    verdicts,
    endpoint: cloudFormation.url,
    close: async () => {
      await Promise.all([gateway.close(), cloudFormation.close()]);
    },
  };
};
