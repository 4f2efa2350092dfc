import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '../../local/loopback.ts';
import { type Verdict, verifySignature } from './verify-signature.ts';

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
  /** Outputs of the stack besides the REST API's. */
  outputs?: Record<string, string>;
  /** Answers of Lambda's API, by path. */
  lambda?: Record<string, unknown>;
}) => {
  const { stack, secretAccessKey, behind, outputs = {}, lambda = {} } = options;
  const verdicts: (Verdict | undefined)[] = [];
  const gateway = await listen(
    createServer(async (request, response) => {
      const body = await text(request);
      const isAdmin = (request.url ?? '').includes('/admin/');
      const verdict = isAdmin ? verifySignature(request, body, secretAccessKey) : undefined;
      if (isAdmin) verdicts.push(verdict);
      if (isAdmin && !verdict?.isValid) {
        response.writeHead(403).end(JSON.stringify({ message: 'The signature does not match.' }));
        return;
      }
      const path = (request.url ?? '').replace(/^\/prod/, '');
      const answer = await fetch(`${behind}${path}`, {
        method: request.method ?? 'GET',
        headers: { 'content-type': 'application/json' },
        ...(body !== '' && { body }),
      });
      const requestId = answer.headers.get('x-request-id');
      if (requestId !== null) response.setHeader('x-request-id', requestId);
      response.writeHead(answer.status).end(await answer.text());
    }),
  );
  const lambdaApi = await listen(
    createServer(async (request, response) => {
      const verdict = verifySignature(request, await text(request), secretAccessKey);
      const answer = lambda[request.url ?? ''];
      const isAllowed = verdict?.isValid === true && verdict.service === 'lambda';
      const status = isAllowed ? (answer === undefined ? 404 : 200) : 403;
      response.writeHead(status).end(JSON.stringify(answer ?? {}));
    }),
  );
  const cloudFormation = await listen(
    createServer(async (request, response) => {
      const isKnown = (await text(request)).includes(`StackName=${stack}`);
      response.writeHead(isKnown ? 200 : 400, { 'content-type': 'text/xml' });
      response.end(
        isKnown
          ? describeStacks(stack, { RestApiUrl: `${gateway.url}/prod/`, ...outputs })
          : NO_SUCH_STACK,
      );
    }),
  );
  return {
    verdicts,
    endpoint: cloudFormation.url,
    lambdaEndpoint: lambdaApi.url,
    close: async () => {
      await Promise.all([gateway.close(), cloudFormation.close(), lambdaApi.close()]);
    },
  };
};
