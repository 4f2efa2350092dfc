/**
 * Writes docs/openapi.json: `npm run openapi`. With `--print` it prints it. It runs in a process of its own, in which
 * the schemas of requests are built by schema-as-json.ts.
 */
import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import * as z from 'zod';
import { BODIES, NoFields } from '../../lambdas/admin/input.ts';
import { QUERIES } from '../../lambdas/admin/queries.ts';
import { methodOf, namesIn, OPERATIONS, type OperationName } from '../../lambdas/operations.ts';
import { ROUTES, type RouteRow } from '../../lambdas/routes.ts';
import project from '../../package.json' with { type: 'json' };
import { REPLIES } from './replies.ts';
import { readReplySchemas } from './reply-schemas.ts';

type Json = Record<string, unknown>;

registerHooks({
  resolve: (specifier, context, next) =>
    next(
      specifier.endsWith('/support/schema.ts')
        ? new URL('schema-as-json.ts', import.meta.url).href
        : specifier,
      context,
    ),
});

/** After the hook: a query, as the admin API's input loads the original through the stores. */
const wireOf = async (protocol: string): Promise<Record<string, Json>> =>
  import(new URL(`../../lambdas/protocols/${protocol}/wire.ts`, import.meta.url).href);
const [chat, messages, responses] = await Promise.all([
  wireOf('chat'),
  wireOf('messages'),
  wireOf('responses'),
]);

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const jsonOf = (schema: Json) => ({ content: { 'application/json': { schema } } });
const string = { type: 'string' };

const REPLY_SCHEMAS = readReplySchemas();

/** Budgets of keys, users and so on are made by the same functions. */
const operationOf = (name: OperationName): string =>
  `admin.${name.replace(/^\w+-(?=budgets)/, '')}`;
const replyName = (name: OperationName): string => `${operationOf(name)}.reply`;

const replySchemaOf = (name: OperationName): Json => {
  const schema = REPLY_SCHEMAS[operationOf(name)];
  if (!schema)
    throw new Error(`The function of ${name} has no type: declare it as Operation<'${name}'>.`);
  return schema;
};

const contentOf = (name: OperationName): Json => {
  const { text } = REPLIES[name];
  return text === undefined
    ? jsonOf(ref(replyName(name)))
    : { content: { [text]: { schema: string } } };
};

const inputOf = (schema: z.ZodType): Json => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return rest;
};

const inPath = (path: string) =>
  namesIn(path).map((name) => ({ name, in: 'path', required: true, schema: string }));

const inQuery = (schema: z.ZodType | undefined): Json[] => {
  if (!schema) return [];
  const { properties = {}, required = [] } = inputOf(schema) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, member]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema: member,
  }));
};

const errors = (statuses: string[], envelope: string) =>
  Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/${envelope}` }]),
  );

const schemaIn = <Table extends object>(table: Table, name: OperationName) =>
  (table as Partial<Record<OperationName, z.ZodType>>)[name];

const bodyOf = (name: OperationName): z.ZodType | undefined =>
  methodOf(name) === 'GET' ? undefined : (schemaIn(BODIES, name) ?? NoFields);

const ADMIN_ERRORS = ['400', '401', '403', '404', '409', '413', '415', '500', '503'];

const adminOperation = (name: OperationName): Json => {
  const [, need, path] = OPERATIONS[name];
  const { status = 200, about } = REPLIES[name];
  const body = bodyOf(name);
  return {
    operationId: `admin.${name}`,
    tags: ['admin'],
    description: [`Requires: ${need}.`, about].filter(Boolean).join(' '),
    security: [{ signature: [] }],
    parameters: [...inPath(path), ...inQuery(schemaIn(QUERIES, name))],
    ...(body && { requestBody: { required: true, ...jsonOf(inputOf(body)) } }),
    responses: {
      [status]: { description: 'Success', ...contentOf(name) },
      ...errors(ADMIN_ERRORS, 'Error'),
    },
  };
};

const REQUESTS: Record<string, string> = {
  '/v1/chat/completions': 'ChatRequest',
  '/v1/messages': 'MessagesRequest',
  '/v1/responses': 'ResponsesRequest',
  '/v1/messages/count_tokens': 'MessagesCountRequest',
  '/v1/responses/input_tokens': 'ResponsesCountRequest',
};
const PUBLIC_ERRORS = ['400', '401', '402', '404', '413', '415', '429', '500', '502', '503', '504'];

/** Of an endpoint's name; responses of generations are those of the vendors' protocols, which their SDKs describe. */
const endpointReply = (row: RouteRow): [name: string, schema: Json][] => {
  const schema =
    'endpoint' in row && !('protocol' in row) ? REPLY_SCHEMAS[row.endpoint] : undefined;
  return schema && 'endpoint' in row ? [[`${row.endpoint}.reply`, schema]] : [];
};

const endpointSchemaOf = (row: RouteRow): Json => {
  const [reply] = endpointReply(row);
  return reply ? ref(reply[0]) : { type: 'object' };
};

const publicOperation = (row: RouteRow): Json => {
  const { method, pattern } = row;
  const request = REQUESTS[pattern];
  const isGeneration = 'protocol' in row;
  const success = {
    'application/json': { schema: endpointSchemaOf(row) },
    ...(isGeneration && { 'text/event-stream': { schema: string } }),
  };
  const envelope = pattern.startsWith('/v1/messages') ? 'MessagesError' : 'Error';
  return {
    operationId: `${method.toLowerCase()} ${pattern}`,
    tags: ['public'],
    ...('endpoint' in row && { security: [{ key: [] }] }),
    parameters: inPath(pattern),
    ...(request && { requestBody: { required: true, ...jsonOf(ref(request)) } }),
    responses: {
      200: { description: 'Success', content: success },
      ...('endpoint' in row && errors(PUBLIC_ERRORS, envelope)),
    },
  };
};

type Described = { path: string; method: string; operation: Json };

const operationNames = Object.keys(OPERATIONS) as OperationName[];
const described: Described[] = [
  ...ROUTES.map((row) => ({
    path: row.pattern,
    method: row.method,
    operation: publicOperation(row),
  })),
  ...operationNames.map((name) => ({
    path: `/admin${OPERATIONS[name][2]}`,
    method: methodOf(name),
    operation: adminOperation(name),
  })),
];

const paths: Record<string, Json> = {};
for (const { path, method, operation } of described) {
  paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
}

const errorOf = (members: Record<string, Json>) => ({
  type: 'object',
  properties: { message: string, type: string, ...members },
  required: ['message', 'type'],
});
const nullable = { type: ['string', 'null'] };

/** Of a schema that occurs twice, all but the first are references, by the path of the first. */
const MIN_SHARED = 200;
const shared = (schemas: Record<string, Json>): Record<string, Json> => {
  const counts = new Map<string, number>();
  const count = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const written = JSON.stringify(node);
    if (!Array.isArray(node) && written.length >= MIN_SHARED) {
      counts.set(written, (counts.get(written) ?? 0) + 1);
      if ((counts.get(written) ?? 0) > 1) return;
    }
    for (const child of Object.values(node)) count(child);
  };
  count(schemas);
  const names = new Map<string, string>();
  const all: Record<string, Json> = {};
  const rewrite = (node: unknown, path: string): unknown => {
    if (typeof node !== 'object' || node === null) return node;
    if (Array.isArray(node)) return node.map((child) => rewrite(child, path));
    const written = JSON.stringify(node);
    const isSchema = ['type', 'anyOf', 'allOf'].some((name) => name in node);
    if (!isSchema || (counts.get(written) ?? 0) < 2) return rewriteMembers(node, path);
    const known = names.get(written);
    if (known !== undefined) return ref(known);
    let name = path;
    for (let n = 2; name in all; n += 1) name = `${path}.${n}`;
    names.set(written, name);
    all[name] = {};
    all[name] = rewriteMembers(node, path);
    return ref(name);
  };
  const rewriteMembers = (node: object, path: string): Json =>
    Object.fromEntries(
      Object.entries(node).map(([name, child]) => {
        const isStep = /^(?:properties|items|anyOf|allOf|type)$/.test(name);
        return [name, rewrite(child, isStep ? path : `${path}.${name}`)];
      }),
    );
  for (const [name, schema] of Object.entries(schemas)) all[name] = rewriteMembers(schema, name);
  return all;
};

const document = {
  openapi: '3.1.0',
  info: {
    title: 'Model router',
    version: project.version,
    description: 'Generated from the schemas that validate: `npm run openapi`.',
  },
  paths,
  components: {
    securitySchemes: {
      key: {
        type: 'http',
        scheme: 'bearer',
        description: 'A key of the router, or in `x-api-key`.',
      },
      signature: { type: 'apiKey', in: 'header', name: 'authorization', description: 'AWS SigV4' },
    },
    responses: Object.fromEntries(
      ['Error', 'MessagesError'].map((name) => [
        name,
        { description: 'An error, with its message', ...jsonOf(ref(name)) },
      ]),
    ),
    schemas: {
      ...shared({
        ChatRequest: chat.ChatRequest ?? {},
        MessagesRequest: messages.MessagesRequest ?? {},
        MessagesCountRequest: messages.CountRequest ?? {},
        ResponsesRequest: responses.ResponsesRequest ?? {},
        ResponsesCountRequest: responses.CountRequest ?? {},
        ...Object.fromEntries(ROUTES.flatMap(endpointReply)),
        ...Object.fromEntries(
          operationNames
            .filter((name) => REPLIES[name].text === undefined)
            .map((name) => [replyName(name), replySchemaOf(name)]),
        ),
      }),
      Error: {
        type: 'object',
        properties: { error: errorOf({ param: nullable, code: nullable }) },
        required: ['error'],
      },
      MessagesError: {
        type: 'object',
        properties: { type: { const: 'error' }, error: errorOf({}), request_id: string },
        required: ['type', 'error', 'request_id'],
      },
    },
  },
};

/** A line for each operation and schema. */
const text = `${JSON.stringify(document).replaceAll(/(?<=[{}],?)(?="[/\w.]+":\{"(?:get|post|type|anyOf|allOf|description)")/g, '\n')}\n`;

if (process.argv.includes('--print')) process.stdout.write(text);
else writeFileSync('docs/openapi.json', text);
