import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import {
  type AttributeValue,
  BatchWriteItemCommand,
  DynamoDBClient,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import { systemClock } from '../../lambdas/support/clock.ts';
import { TABLES, type TableName } from '../../lambdas/tables.ts';
import { startEmbeddedUpstream } from '../../local/embedded-upstream/server.ts';
import { listen } from '../../local/loopback.ts';
import { startBundle } from '../rehearsal/start-bundle.ts';
import { functionUrl, restApi } from '../runtime/events.ts';
import { TABLE_NAMES } from '../support/dynamo.ts';
import { startEmbeddedDynamo } from '../support/embedded-dynamo.ts';
import { startEmbeddedSecrets } from '../support/embedded-secrets.ts';
import { LOCAL_AWS } from '../support/local-aws.ts';
import { UPSTREAM_SECRET } from '../support/local-upstream.ts';

type Item = Record<string, AttributeValue>;
/** In the form of DynamoDB's API, with bytes as base64. */
export type Items = Partial<Record<TableName, Item[]>>;

const PROTOCOLS = ['chat', 'messages'] as const;
const CREDENTIALS = { aurora: 'local-aurora', borealis: 'local-borealis' };

/** Addresses in the catalog of a frozen function, which are replaced by those of the embedded upstreams. */
export const frozenAddress = (protocol: string): string => `http://127.0.0.1:59999/${protocol}`;

/** A provider that rejects `temperature`, in front of one that does not. */
const startStrict = async (address: string) => {
  const server = createServer(async (incoming, response) => {
    const body = await buffer(incoming);
    if ('temperature' in (JSON.parse(body.toString()) as object)) {
      const error = {
        type: 'invalid_request_error',
        code: 'unsupported_parameter',
        param: 'temperature',
        message: "Unsupported parameter: 'temperature' is not supported with this model.",
      };
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error }));
      return;
    }
    const headers = Object.fromEntries(
      Object.entries(incoming.headers).filter(
        ([name]) => !/^(?:host|connection|content-length)$/.test(name),
      ),
    ) as Record<string, string>;
    const answer = await fetch(address + (incoming.url ?? ''), { method: 'POST', headers, body });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    for await (const chunk of answer.body ?? []) response.write(chunk);
    response.end();
  });
  return listen(server);
};

const isBytes = (value: AttributeValue): value is AttributeValue.BMember => value.B !== undefined;
const mapItem = (item: Item, change: (value: AttributeValue) => AttributeValue): Item =>
  Object.fromEntries(Object.entries(item).map(([name, value]) => [name, change(value)]));
const toBase64 = (value: AttributeValue): AttributeValue =>
  isBytes(value)
    ? ({ B: Buffer.from(value.B).toString('base64') } as unknown as AttributeValue)
    : value;
const fromBase64 = (value: AttributeValue): AttributeValue =>
  isBytes(value) ? { B: Buffer.from(String(value.B), 'base64') } : value;

/** As many items as DynamoDB writes in one call. */
const BATCH = 25;

/** What a stage consists of besides its functions, all on loopback. */
export const startServices = async () => {
  const [dynamo, secrets, upstream] = await Promise.all([
    startEmbeddedDynamo(),
    startEmbeddedSecrets({ [UPSTREAM_SECRET]: JSON.stringify(CREDENTIALS) }),
    startEmbeddedUpstream({
      credentials: new Set(Object.values(CREDENTIALS)),
      delayMs: 0,
      clock: systemClock,
      randomBytes,
    }),
  ]);
  const strict = await startStrict(upstream.baseUrl('chat').replace(/(:\d+)\/.*/, '$1'));
  const addresses = {
    chat: upstream.baseUrl('chat').replace(/^http:\/\/[^/]+/, strict.url),
    messages: upstream.baseUrl('messages'),
  };
  const client = new DynamoDBClient({ ...LOCAL_AWS, endpoint: dynamo.endpoint });
  return {
    upstreams: upstream.control,
    addresses,
    /** Where the embedded upstreams are without what stands in front of them. */
    embedded: upstream.baseUrl,
    endpoints: { dynamo: dynamo.endpoint, secrets: secrets.endpoint },
    readItems: async (): Promise<Items> => {
      const items: Items = {};
      for (const table of TABLES) {
        const found = await client.send(new ScanCommand({ TableName: TABLE_NAMES[table] }));
        items[table] = (found.Items ?? []).map((item) => mapItem(item, toBase64));
      }
      return items;
    },
    writeItems: async (items: Items): Promise<void> => {
      for (const table of TABLES) {
        const puts = (items[table] ?? []).map((item) => ({
          PutRequest: { Item: mapItem(item, fromBase64) },
        }));
        for (let start = 0; start < puts.length; start += BATCH) {
          const batch = puts.slice(start, start + BATCH);
          const RequestItems = { [TABLE_NAMES[table]]: batch };
          await client.send(new BatchWriteItemCommand({ RequestItems }));
        }
      }
    },
    close: async () => {
      client.destroy();
      await Promise.all([strict, upstream, secrets, dynamo].map(({ close }) => close()));
    },
  };
};
export type Services = Awaited<ReturnType<typeof startServices>>;

/** The code of a function, whose catalog has the frozen addresses or those of the embedded upstreams. */
const unpack = (code: Code, { addresses, embedded }: Services): string => {
  const folder = mkdtempSync(join(tmpdir(), 'frozen-'));
  for (const [name, script] of Object.entries(code)) {
    const local = PROTOCOLS.reduce(
      (text, protocol) =>
        text
          .replaceAll(frozenAddress(protocol), addresses[protocol])
          .replaceAll(embedded(protocol), addresses[protocol]),
      script,
    );
    writeFileSync(join(folder, name), local);
  }
  return folder;
};

/** The scripts of a function by file name. */
export type Code = Record<string, string>;

/** The scripts in the folder of a function. */
export const readScripts = (folder: string): Code => {
  const names = readdirSync(folder).filter((name) => name.endsWith('.cjs'));
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
};

const unzip = (file: string): string => gunzipSync(readFileSync(file)).toString();

/** A frozen function: releases up to 0.2.0 had one script. */
export const readCode = (folder: string, name: string): Code => {
  const only = join(folder, `${name}.cjs.gz`);
  return existsSync(only)
    ? { 'index.cjs': unzip(only) }
    : (JSON.parse(unzip(join(folder, `${name}.json.gz`))) as Code);
};

export type Called = {
  path: string;
  body?: unknown;
  method?: string;
  key?: string;
  headers?: object;
};
export type Answered = { status: number | undefined; body: unknown };

const bodyOf = (text = ''): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};

const OPERATOR = { userArn: 'arn:aws:iam::000000000000:user/olga', sourceIp: '192.0.2.1' };

/** On a busy machine a table in this process answers later than a function waits for one on AWS. */
const SLOWNESS = 10;

/** Both functions of a release on these services, each with the variables that it is given. */
export const startFunctions = (
  services: Services,
  code: { router: Code; admin: Code },
  env: { router: Record<string, string>; admin: Record<string, string> },
) => {
  const folders = [unpack(code.router, services), unpack(code.admin, services)] as const;
  const router = startBundle(folders[0], env.router, { slowness: SLOWNESS });
  const admin = startBundle(folders[1], env.admin, { slowness: SLOWNESS });
  return {
    /** The public API. */
    call: async (now: number, { path, headers, ...options }: Called): Promise<Answered> => {
      const [rawPath = '', rawQueryString = ''] = path.split('?');
      const event = functionUrl(rawPath, options);
      const sent = { ...event, rawQueryString, headers: { ...event.headers, ...headers } };
      const { status, text } = await router.invoke(now, sent);
      return { status, body: bodyOf(text) };
    },
    /** The admin API, as an operator. */
    operate: async (now: number, { path, ...options }: Called): Promise<Answered> => {
      const [rawPath = '', query = ''] = path.split('?');
      const event = restApi(rawPath, options);
      const parameters = new URLSearchParams(query);
      const { status, text } = await admin.invoke(now, {
        ...event,
        multiValueQueryStringParameters: Object.fromEntries(
          [...parameters.keys()].map((name) => [name, parameters.getAll(name)]),
        ),
        requestContext: { ...event.requestContext, identity: OPERATOR },
      });
      return { status, body: bodyOf(text) };
    },
    /** The schedule of the history. */
    foldHistory: (now: number) => admin.invoke(now, { job: 'history' }),
    takeLines: () => [...router.takeLines(), ...admin.takeLines()],
    stop: async () => {
      await Promise.all([router.stop(), admin.stop()]);
      for (const folder of folders) rmSync(folder, { recursive: true });
    },
  };
};
export type Functions = ReturnType<typeof startFunctions>;
