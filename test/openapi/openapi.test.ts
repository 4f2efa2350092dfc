import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { methodOf, OPERATIONS, type OperationName } from '../../lambdas/operations.ts';
import type { LocalRouter } from '../../local/start.ts';
import { jsonMutation, mutateJson } from '../fuzz/mutate-json.ts';
import { MODEL_ON, startWatched } from '../support/local.ts';
import { fc, share } from '../support/seeds.ts';
import { startUserPool, type UserPoolStandIn } from '../support/user-pool.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const written = readFileSync(`${root}docs/openapi.json`, 'utf8');

type Media = Record<string, { schema: object }>;
type Operation = {
  requestBody?: { content: Media };
  responses: Record<string, { $ref?: string; content?: Media }>;
};
type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; responses: Record<string, { content: Media }> };
};
const document = JSON.parse(written) as Document;

type Check = ((value: unknown) => boolean) & { errors?: unknown };
/** By name: on an install without them these tests fail, and the checks of types do not. */
const [AJV, LINTER]: string[] = ['ajv/dist/2020.js', '@seriousme/openapi-schema-validator'];
const { Ajv2020 } = await import(String(AJV));
const { Validator } = await import(String(LINTER));
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'https://router.test/openapi', ...document });

const checks = new Map<object, Check>();
const checkOf = (schema: object): Check => {
  const text = JSON.stringify(schema).replaceAll('"#/', '"https://router.test/openapi#/');
  const check = checks.get(schema) ?? (ajv.compile(JSON.parse(text)) as Check);
  checks.set(schema, check);
  return check;
};

const operationAt = (method: string, path: string): Operation => {
  const operation = document.paths[path]?.[method.toLowerCase()];
  if (!operation) throw new Error(`${method} ${path} is not in the document.`);
  return operation;
};

let cognito: UserPoolStandIn;
let router: LocalRouter;
beforeAll(async () => {
  cognito = await startUserPool();
  router = await startWatched({ members: cognito.pool, state: 'asked' });
});
afterAll(() => Promise.all([router.close(), cognito.close()]));

type Sent = { method: string; path: string; at?: string; query?: string; body?: unknown };

/** Sends a request, and finds its response as the document has it. */
const send = async ({ method, path, at = path, query = '', body }: Sent) => {
  const response = await fetch(`${router.baseUrl}${at}${query}`, {
    method,
    headers: { authorization: `Bearer ${router.key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const { status } = response;
  const documented = operationAt(method, path).responses[status];
  const { content = {} } = documented?.$ref
    ? (document.components.responses[documented.$ref.split('/').at(-1) ?? ''] ?? {})
    : (documented ?? {});
  const [type = ''] = (response.headers.get('content-type') ?? '').split(';');
  const schema = content[type]?.schema;
  if (!schema)
    throw new Error(`${method} ${path}: ${status} ${type} is not in the document: ${text}`);
  if (type === 'application/json') {
    const check = checkOf(schema);
    expect(check(JSON.parse(text)) ? [] : [path, text, check.errors]).toEqual([]);
  }
  return { status, text };
};

describe('the document of the API', () => {
  test('docs/openapi.json is what npm run openapi writes', () => {
    const printed = execFileSync(process.execPath, ['test/openapi/document.ts', '--print'], {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 2 ** 24,
    });
    expect(written).toBe(printed);
  });

  test('the document is valid for a public linter of OpenAPI 3.1', async () => {
    const validator = new Validator();
    expect(await validator.validate(structuredClone(document))).toMatchObject({ valid: true });
    expect(validator.version).toBe('3.1');
  });

  test('each response of the admin API, and of the public API but for generations, has members with types', () => {
    const untyped = Object.entries(document.components.schemas)
      .filter(([name]) => name.endsWith('.reply'))
      .filter(([, schema]) => !/"properties":\{"/.test(JSON.stringify(schema)))
      .map(([name]) => name);
    expect(untyped).toEqual([]);
    const json = Object.values(OPERATIONS).length - 1;
    expect(JSON.stringify(document.paths).split('.reply"').length - 1).toBeGreaterThan(json + 5);
  });

  test('GET /openapi.json responds with the document, without a key', async () => {
    const response = await fetch(`${router.baseUrl}/openapi.json`);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.text()).toBe(written);
  });
});

const PLAN = { rpm: 50_000, quota: 100_000, period: 'day' };
const BUDGET = { max_usd: 9, period: 'day' };
const MONTH = new Date().toISOString().slice(0, 7);

/** A body that each operation accepts, and a query for those that need one; in an order in which all succeed. */
const DAY: Partial<Record<OperationName, { body?: object; query?: string }>> = {
  'projects.create': { body: { id: 'team', name: 'The Team' } },
  'projects.set': { body: { max_keys: 9, plans: null } },
  'projects.list': {},
  'webhooks.set': { body: { url: 'https://example.com/hook' } },
  'webhooks.show': {},
  'webhooks.delete': { body: {} },
  'plans.create': { body: { id: 'small', ...PLAN, models: [MODEL_ON.chat] } },
  'plans.set': { body: { rpm: 60_000, concurrency: 9 } },
  'plans.list': {},
  'keys.create': {
    body: { plan: 'small', name: 'ci', expires_at: '2099-01-31T00:00:00Z', rpm: 9 },
  },
  'keys.set': { body: { name: 'nightly', quota: 7, concurrency: null } },
  'keys.show': {},
  'keys.list': { query: '?q=n&status=active&limit=9' },
  'keys.move': { body: { plan: 'small' } },
  'keys.pause': { body: {} },
  'keys.resume': { body: {} },
  'budgets.set': { body: BUDGET },
  'budgets.show': {},
  'key-budgets.set': { body: { ...BUDGET, paused: true } },
  'key-budgets.show': {},
  'organisation-budgets.set': { body: BUDGET },
  'organisation-budgets.show': {},
  'users-budgets.set': { body: BUDGET },
  'users-budgets.show': {},
  'user-budgets.set': { body: BUDGET },
  'user-budgets.show': {},
  'sessions-budgets.set': { body: BUDGET },
  'sessions-budgets.show': {},
  'session-budgets.set': { body: BUDGET },
  'session-budgets.show': {},
  'budgets.list': {},
  'organisation-budgets.delete': { body: {} },
  'users-budgets.delete': { body: {} },
  'user-budgets.delete': { body: {} },
  'sessions-budgets.delete': { body: {} },
  'session-budgets.delete': { body: {} },
  'key-budgets.delete': { body: {} },
  'budgets.delete': { body: {} },
  'members.invite': { body: { email: 'tom@example.com', role: 'project:team' } },
  'members.set': { body: { roles: ['viewer', 'project:team'] } },
  'members.list': { query: '?q=tom' },
  'members.remove': { body: {} },
  'quotas.list': { query: '?limit=9' },
  statement: {},
  usage: { query: '?by=model' },
  reconcile: { body: {} },
  export: { query: `?from=${MONTH}-01T00:00:00Z` },
  'requests.list': { query: '?limit=5&status=failed' },
  'audit.list': { query: '?who=l' },
  checks: {},
  'targets.list': {},
  metrics: { query: '?limits=true' },
  calibration: {},
  'targets.test': { body: { place: '[0].targets[0]', call: 'whole' } },
  apply: { body: { projects: [{ id: 'seeded' }], plans: [{ id: 'basic', ...PLAN }] } },
  'keys.rotate': { body: { overlap: '1h' } },
  'keys.revoke': { body: {} },
  'plans.delete': { body: {} },
  'projects.delete': { body: {} },
};

const parameters = (key: string): Record<string, string> => ({
  project: 'team',
  plan: 'small',
  member: 'tom@example.com',
  month: MONTH,
  format: 'ndjson',
  key,
});

const sentTo = (name: OperationName, key: string, body?: unknown, query = ''): Sent => {
  const path = `/admin${OPERATIONS[name][2]}`;
  const at = path.replace(/\{(\w+)\}/g, (_, member) => parameters(key)[member] ?? 'none');
  return { method: methodOf(name), path, at, query, body };
};

const GENERATIONS: Record<string, object> = {
  '/v1/chat/completions': {
    model: MODEL_ON.chat,
    max_tokens: 9,
    temperature: 1,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'say Hello' }] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'done' },
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
    tool_choice: 'auto',
    stop: ['x'],
  },
  '/v1/messages': {
    model: MODEL_ON.messages,
    max_tokens: 9,
    system: [{ type: 'text', text: 'Be brief.' }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'say Hello' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'f', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'done' }] },
    ],
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
    tool_choice: { type: 'auto' },
    stop_sequences: ['x'],
  },
  '/v1/responses': {
    model: MODEL_ON.chat,
    max_output_tokens: 9,
    instructions: 'Be brief.',
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'say Hello' }] },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'done' },
    ],
    tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }],
    tool_choice: 'auto',
    text: { format: { type: 'text' } },
  },
};

const bodySchemaOf = ({ method, path }: Sent): object => {
  const schema = operationAt(method, path).requestBody?.content['application/json']?.schema;
  if (!schema) throw new Error(`${path} has no body.`);
  return schema;
};

describe('requests that the document allows and forbids', () => {
  test('each operation of the admin API responds as documented to what it allows', async () => {
    let key = '';
    for (const [name, { body, query }] of Object.entries(DAY) as [
      OperationName,
      { body?: object; query?: string },
    ][]) {
      const sent = sentTo(name, key, body, query);
      if (body) expect(checkOf(bodySchemaOf(sent))(body)).toBe(true);
      const { status, text } = await send(sent);
      // A plan and a project that had keys in the last minute are not deleted.
      const isDeletion = name === 'plans.delete' || name === 'projects.delete';
      expect([name, status]).toEqual([name, isDeletion ? 409 : expect.toBeOneOf([200, 201])]);
      if (name === 'keys.create') key = (JSON.parse(text) as { id: string }).id;
    }
  });

  test.each(Object.entries(GENERATIONS))(
    'POST %s responds as documented to what it allows, whole and streamed',
    async (path, body) => {
      for (const stream of [false, true]) {
        const sent = { method: 'POST', path, body: { ...body, stream } };
        expect(checkOf(bodySchemaOf(sent))(sent.body)).toBe(true);
        expect((await send(sent)).status).toBe(200);
      }
    },
  );

  test('what the public API says of models, usage, requests, sessions and stored responses is as documented', async () => {
    const body = { model: MODEL_ON.chat, input: 'say Hello', store: true, user: 'ann' };
    const made = await send({ method: 'POST', path: '/v1/responses', body });
    const { id } = JSON.parse(made.text) as { id: string };
    const response = await fetch(`${router.baseUrl}/v1/messages`, {
      method: 'POST',
      headers: {
        ...{ 'x-api-key': router.key, 'content-type': 'application/json' },
        'x-router-session': 'documented',
      },
      body: JSON.stringify(GENERATIONS['/v1/messages']),
    });
    expect(response.status).toBe(200);
    await response.text();
    const request = response.headers.get('x-request-id') ?? '';
    const refused = await fetch(`${router.baseUrl}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': router.key },
      body: '{"model":"none/such","max_tokens":9,"messages":[]}',
    });
    const shown: [path: string, id?: string, query?: string][] = [
      ['/v1/models'],
      ['/v1/models/{id}', MODEL_ON.chat],
      ['/v1/usage'],
      ['/v1/usage', '', `?by=model&since=${MONTH}-01`],
      ['/v1/requests/{id}', request],
      ['/v1/requests/{id}', refused.headers.get('x-request-id') ?? ''],
      ['/v1/sessions/{id}', 'documented'],
      ['/v1/responses/{id}', id],
      ['/v1/responses/{id}/input_items', id],
    ];
    const statuses: [string, number][] = [];
    for (const [path, of = '', query = ''] of shown) {
      const at = path.replace('{id}', of);
      const { status } = await send({ method: 'GET', path, at, query });
      statuses.push([path, status]);
    }
    expect(statuses.filter(([, status]) => status !== 200)).toEqual([]);
    const path = '/v1/responses/{id}';
    const deleted = await send({ method: 'DELETE', path, at: `/v1/responses/${id}` });
    expect(deleted.status).toBe(200);
  });

  /** Bodies that are changed at random: what the schema forbids gets 400, and all responses are documented. */
  const property = async (sents: Sent[]) => {
    const counts = { served: 0, forbidden: 0 };
    const changes = fc.array(jsonMutation, { minLength: 1, maxLength: 2 });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...sents), changes, async (sent, mutations) => {
        const changed = mutateJson(JSON.stringify(sent.body), mutations);
        const body: unknown = JSON.parse(changed);
        // The router reads a body without such members.
        const read: unknown = JSON.parse(changed, (name, value) =>
          name === '__proto__' ? undefined : value,
        );
        const isAllowed = checkOf(bodySchemaOf(sent))(read);
        const { status, text } = await send({ ...sent, body });
        if (status < 300) counts.served += 1;
        if (isAllowed) return;
        counts.forbidden += 1;
        expect([status, text, body]).toEqual([400, text, body]);
      }),
      { numRuns: share(300, 5) },
    );
    // Otherwise the changes are no longer those of the names above.
    expect(counts.served).toBeGreaterThan(share(20, 5));
    expect(counts.forbidden).toBeGreaterThan(share(100, 5));
  };

  test('a body of the admin API that the document forbids gets 400', async () => {
    const sents = (Object.keys(DAY) as OperationName[])
      .filter((name) => Object.keys(DAY[name]?.body ?? {}).length > 0)
      .map((name) => sentTo(name, 'key_none', DAY[name]?.body));
    await property(sents);
  });

  test('a body of a generation that the document forbids gets 400', async () => {
    const sents = Object.entries(GENERATIONS).map(([path, body]) => ({
      method: 'POST',
      path,
      body,
    }));
    await property(sents);
  });
});
