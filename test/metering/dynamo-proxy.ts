import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from '../../local/loopback.ts';

/** What the way to the table does with one call. */
export type Trouble =
  | 'none'
  /** Closes the connection, nothing was applied. */
  | 'reset'
  /** Accepts the call and sends no response. */
  | 'silence'
  /** Applies the call and sends no response. */
  | 'lost answer'
  /** Applies the call 1.2 s later: the client has given that attempt up by then. */
  | 'late'
  /** Applies the call after 300 ms. */
  | 'slow'
  /** Applies the call at once, and answers after 300 ms. */
  | 'late answer'
  /** Applies the call twice and gives the first answer. */
  | 'twice'
  | 'throttled'
  /** Refuses the call because its item has no capacity left. */
  | 'over capacity'
  /** Refuses the credentials of the call, as after a freeze that outlasted them. */
  | 'expired token';

export type TableCall = {
  operation: string;
  table: string;
  key: string;
  /** Whether a write has the item returned that it leaves. */
  returnsItem: boolean;
  /** The same in each attempt. */
  body: string;
};

export type DynamoProxy = {
  url: string;
  /** All calls since the start, attempts counted one by one. */
  calls: TableCall[];
  /** Whether a call waits for its response. */
  isBusy(): boolean;
  /** Decides what befalls each call; a promise holds the call until it resolves. */
  decide(trouble: (call: TableCall) => Trouble | Promise<Trouble>): void;
  /**
   * Shows the body of each answer of the table, before it is sent on; each has the item that the write left, and what the
   * call consumed.
   */
  watch(onAnswer: (call: TableCall, body: Buffer) => void): void;
  close(): Promise<void>;
};

const refusal = (type: string, message: string) => JSON.stringify({ __type: type, message });

/** Refused calls, which were not applied. */
const REFUSALS: Partial<Record<Trouble, string>> = {
  throttled: refusal('com.amazonaws.dynamodb.v20120810#ThrottlingException', 'Rate exceeded'),
  'over capacity': refusal(
    'com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException',
    'The level of configured provisioned throughput for the table was exceeded.',
  ),
  'expired token': refusal(
    'com.amazon.coral.service#ExpiredTokenException',
    'The security token included in the request is expired',
  ),
};

const APPLIED_AFTER_MS: Partial<Record<Trouble, number>> = { late: 1_200, slow: 300 };

const readCall = (incoming: IncomingMessage, body: Buffer): TableCall => {
  const text = body.toString();
  const { TableName, Key, ReturnValues } = JSON.parse(text) as {
    TableName: string;
    Key?: { pk?: { S?: string } };
    ReturnValues?: string;
  };
  const operation = String(incoming.headers['x-amz-target']).split('.')[1] ?? '';
  const returnsItem = ReturnValues === 'ALL_NEW';
  return { operation, table: TableName, key: Key?.pk?.S ?? '', returnsItem, body: text };
};

type Answer = { status: number; headers: IncomingMessage['headers']; body: Buffer };

const forward = (target: string, incoming: IncomingMessage, body: Buffer): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const { method } = incoming;
    const headers = { ...incoming.headers, 'content-length': body.byteLength };
    const outgoing = request(target, { method, headers }, (answer) => {
      buffer(answer).then(
        (read) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: read }),
        reject,
      );
    });
    outgoing.once('error', reject);
    outgoing.end(body);
  });

const withDetails = (body: Buffer): Buffer =>
  Buffer.from(
    body
      .toString()
      .replace('"ReturnValues":"NONE"', '"ReturnValues":"ALL_NEW"')
      .replace('{', '{"ReturnConsumedCapacity":"TOTAL",'),
  );

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A proxy of the table at `target` that injects faults. */
export const startDynamoProxy = async (target: string): Promise<DynamoProxy> => {
  const calls: TableCall[] = [];
  let troubleOf: (call: TableCall) => Trouble | Promise<Trouble> = () => 'none';
  let onAnswer: (call: TableCall, body: Buffer) => void = () => undefined;
  let asForwarded = (body: Buffer): Buffer => body;

  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(incoming);
    const call = readCall(incoming, body);
    calls.push(call);
    const trouble = await troubleOf(call);
    const reply = ({ status, headers, body: text }: Answer) =>
      response.writeHead(status, headers).end(text);
    if (trouble === 'reset') return incoming.socket.destroy();
    if (trouble === 'silence') return undefined;
    const refused = REFUSALS[trouble];
    if (refused) {
      return response.writeHead(400, { 'content-type': 'application/x-amz-json-1.0' }).end(refused);
    }
    const appliedAfterMs = APPLIED_AFTER_MS[trouble];
    if (appliedAfterMs) await pause(appliedAfterMs);
    const answer = await forward(target, incoming, asForwarded(body));
    onAnswer(call, answer.body);
    if (trouble === 'twice') await forward(target, incoming, body);
    if (trouble === 'late answer') await pause(300);
    return trouble === 'lost answer' ? undefined : reply(answer);
  };

  let open = 0;
  const server = createServer((incoming, response) => {
    open += 1;
    response.once('close', () => {
      open -= 1;
    });
    handle(incoming, response).catch(() => incoming.socket.destroy());
  });
  const { url, close } = await listen(server);
  return {
    url,
    calls,
    isBusy: () => open > 0,
    decide: (next) => {
      troubleOf = next;
    },
    watch: (next) => {
      onAnswer = next;
      asForwarded = withDetails;
    },
    close,
  };
};
