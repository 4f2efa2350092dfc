import dns from 'node:dns';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { SignatureV4 } from '@smithy/signature-v4';
import { vi } from 'vitest';
import { listen } from '../../local/loopback.ts';
import { Sha256 } from './aws-sha256.ts';
import { helloAt } from './strict-upstream/vendors.ts';
import { chatWire, messagesWire } from './translate.ts';

export const ROLE = {
  accessKeyId: 'ASIAEXAMPLEOFAROLE01',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: 'IQoJb3JpZ2luX2VjEXAMPLETOKENOFTHEROLE7fQ==',
};

const MINUTE_MS = 60_000;

const CHAT = chatWire([
  { choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello' }, finish_reason: null }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
]);
const MESSAGES = messagesWire([
  { type: 'message_start', message: { usage: { input_tokens: 3, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
  { type: 'message_stop' },
]);

const RESPONSES = helloAt('/responses');

/** What AWS serves at which path, by the name in the host. */
const PATHS: Record<string, Record<string, string>> = {
  runtime: {
    '/openai/v1/chat/completions': CHAT,
    '/openai/v1/responses': RESPONSES,
    '/anthropic/v1/messages': MESSAGES,
  },
  mantle: {
    '/v1/chat/completions': CHAT,
    '/v1/responses': RESPONSES,
    '/openai/v1/chat/completions': CHAT,
    '/anthropic/v1/messages': MESSAGES,
  },
};

type Rejection = { type: string; message: string };

/** The state of AWS's side; a test changes what it needs. */
const initialState = () => ({
  region: 'eu-central-1',
  /** Milliseconds by which AWS's clock is ahead. */
  aheadMs: 0,
  sessionToken: ROLE.sessionToken,
  isExpired: false,
  isAllowed: true,
  /** Changes the body between the caller and AWS. */
  isTampered: false,
  /** The service that listens, in place of the one that the host names. */
  service: undefined as string | undefined,
});

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=(?<key>[^/]+)\/(?<date>\d{8})\/(?<region>[^/]+)\/(?<service>[^/]+)\/aws4_request, SignedHeaders=(?<names>[^,]+), Signature=[0-9a-f]{64}$/;

/** `20261122T120000Z` */
const basic = (instant: number) => new Date(instant).toISOString().replaceAll(/[-:]|\.\d+/g, '');
const instantOf = (text: string): number =>
  Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));

const skewMessage = (signed: string, now: number): string | undefined => {
  const limit = 5 * MINUTE_MS;
  if (instantOf(signed) < now - limit) {
    return `Signature expired: ${signed} is now earlier than ${basic(now - limit)} (${basic(now)} - 5 min.)`;
  }
  if (instantOf(signed) > now + limit) {
    return `Signature not yet current: ${signed} is still later than ${basic(now + limit)} (${basic(now)} + 5 min.)`;
  }
  return undefined;
};

const MISMATCH =
  'The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.';

/** Signs the received request again, with AWS's own signer. */
const signedByAws = async (incoming: IncomingMessage, body: Buffer, names: string[]) => {
  const { headers, url = '', method = '' } = incoming;
  const { region = '', service = '' } =
    AUTHORIZATION.exec(headers.authorization ?? '')?.groups ?? {};
  const kept = names.filter((name) => !['x-amz-date', 'x-amz-security-token'].includes(name));
  const credentials = { ...ROLE, sessionToken: String(headers['x-amz-security-token']) };
  const signer = new SignatureV4({
    ...{ service, region, credentials, sha256: Sha256, applyChecksum: false },
  });
  const [hostname = ''] = (headers.host ?? '').split(':');
  const { headers: expected } = await signer.sign(
    {
      ...{ method, protocol: 'http:', hostname, path: url, body },
      headers: Object.fromEntries(kept.map((name) => [name, String(headers[name])])),
    },
    { signingDate: new Date(instantOf(String(headers['x-amz-date']))) },
  );
  return expected.authorization;
};

type State = ReturnType<typeof initialState>;

/** AWS's rejection of a request, by its documentation of signatures, in the order in which AWS checks. */
const rejectionOf = async (
  incoming: IncomingMessage,
  body: Buffer,
  { state, now }: { state: State; now: number },
): Promise<Rejection | undefined> => {
  const { headers } = incoming;
  const scope = AUTHORIZATION.exec(headers.authorization ?? '')?.groups;
  const service =
    state.service ?? (headers.host?.startsWith('bedrock-mantle.') ? 'bedrock-mantle' : 'bedrock');
  const invalid = (message: string) => ({ type: 'InvalidSignatureException', message });
  if (!scope) return { type: 'MissingAuthenticationTokenException', message: 'Missing Token' };
  if (scope.service !== service) {
    return invalid(`Credential should be scoped to correct service: '${service}'. `);
  }
  if (scope.region !== state.region) {
    return invalid('Credential should be scoped to a valid region. ');
  }
  const isKnown =
    scope.key === ROLE.accessKeyId && headers['x-amz-security-token'] === state.sessionToken;
  const token = (what: string) => `The security token included in the request is ${what}`;
  if (state.isExpired) return { type: 'ExpiredTokenException', message: token('expired') };
  if (!isKnown) return { type: 'UnrecognizedClientException', message: token('invalid.') };
  const skewed = skewMessage(String(headers['x-amz-date']), now);
  if (skewed !== undefined) return invalid(skewed);
  const names = String(scope.names).split(';');
  const received = state.isTampered ? Buffer.concat([body, Buffer.from(' ')]) : body;
  const expected = await signedByAws(incoming, received, names);
  if (expected !== headers.authorization || !names.includes('host')) {
    return invalid(`${MISMATCH}\n\n${names.map((name) => `${name}:${headers[name]}`).join('\n')}`);
  }
  if (state.isAllowed) return undefined;
  const message = `User: arn:aws:sts::123456789012:assumed-role/canary-role/router is not authorized to perform: bedrock:InvokeModel on resource: arn:aws:bedrock:eu-central-1::foundation-model/model because no identity-based policy allows the bedrock:InvokeModel action`;
  return { type: 'AccessDeniedException', message };
};

/** `bedrock-mantle` answers in the vendors' envelopes with 401, `bedrock-runtime` as AWS's services. */
const reject = (response: ServerResponse, isMantle: boolean, { type, message }: Rejection) => {
  const isDenied = type === 'AccessDeniedException';
  const error = { code: 'access_denied', message, type: 'authentication_error', param: null };
  response
    .writeHead(isMantle && !isDenied ? 401 : 403, {
      'content-type': 'application/json',
      'x-amzn-errortype': type,
    })
    .end(JSON.stringify(isMantle ? { error } : isDenied ? { Message: message } : { message }));
};

/** Resolves AWS's names to loopback, where the stand-in listens; restored with all mocks. */
const resolveToLoopback = () => {
  const { lookup } = dns;
  const isAws = (host: string) => /\.(?:amazonaws\.com|api\.aws)$/.test(host);
  const stand = (host: string, ...rest: unknown[]) =>
    Reflect.apply(lookup, dns, [isAws(host) ? '127.0.0.1' : host, ...rest]);
  return vi.spyOn(dns, 'lookup').mockImplementation(stand as typeof dns.lookup);
};

/**
 * Amazon Bedrock on loopback, at the names that it has: it checks each request with AWS's own signer, at the
 * time of `clock`, and answers `Hello` on the paths of both endpoints.
 */
export const startStrictBedrock = async (clock: { now(): number }) => {
  const state = initialState();
  const calls: { path: string; model: unknown; headers: IncomingMessage['headers'] }[] = [];
  const answer = async (incoming: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(incoming);
    const { url = '', headers } = incoming;
    calls.push({ path: url, model: JSON.parse(body.toString()).model, headers });
    const now = clock.now() + state.aheadMs;
    response.setHeader('date', new Date(now).toUTCString());
    const isMantle = headers.host?.startsWith('bedrock-mantle.') ?? false;
    const text = PATHS[isMantle ? 'mantle' : 'runtime']?.[url];
    const rejection = await rejectionOf(incoming, body, { state, now });
    if (rejection) reject(response, isMantle, rejection);
    else if (text === undefined) response.writeHead(404).end('{}');
    else response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
  };
  const server = createServer((incoming, response) => {
    answer(incoming, response).catch(() => incoming.socket.destroy());
  });
  const { url, close } = await listen(server, () => true);
  const { port } = new URL(url);
  const names = resolveToLoopback();
  return {
    /** Address of an endpoint with its path, e.g. `baseUrl('runtime', '/openai/v1')`. */
    baseUrl: (name: 'mantle' | 'runtime', path: string, region = 'eu-central-1') =>
      `http://bedrock-${name}.${region}.${name === 'mantle' ? 'api.aws' : 'amazonaws.com'}:${port}${path}`,
    state,
    reset: () => Object.assign(state, initialState()),
    /** The calls since the last time. */
    take: () => calls.splice(0),
    close: async () => {
      names.mockRestore();
      await close();
    },
  };
};

export type StrictBedrock = Awaited<ReturnType<typeof startStrictBedrock>>;
