/**
 * The arrows between the rooms of lambdas/, in the order of a request. `values` may be imported as code,
 * `types` only with `import type`; a room may always import itself. Whatever is not named is forbidden.
 */
const rooms = {
  admin: {
    values: [
      'history',
      'http',
      'keys',
      'metering',
      'protocols',
      'records',
      'stores',
      'support',
      'webhooks',
    ],
    types: ['aws', 'catalog', 'endpoints', 'upstreams'],
  },
  http: { values: ['keys', 'protocols', 'support'], types: ['endpoints', 'metering', 'records'] },
  keys: { values: ['stores', 'support'] },
  history: { values: ['money', 'stores', 'support'] },
  records: { values: ['money', 'support'], types: ['catalog', 'protocols', 'stores'] },
  metering: { values: ['stores', 'support'], types: ['keys', 'protocols'] },
  endpoints: {
    values: [
      'catalog',
      'history',
      'metering',
      'money',
      'records',
      'routing',
      'protocols',
      'support',
    ],
    types: ['keys', 'replay', 'stores', 'upstreams'],
  },
  replay: {
    values: ['metering', 'protocols', 'stores', 'support'],
    types: ['endpoints'],
  },
  state: {
    values: ['protocols', 'stores', 'support', 'webhooks'],
    types: ['endpoints', 'metering'],
  },
  catalog: { values: ['money', 'protocols', 'support'] },
  money: { values: ['support'] },
  routing: { values: ['catalog', 'protocols', 'support'], types: ['stores', 'upstreams'] },
  upstreams: { values: ['aws', 'http-client', 'protocols', 'support'], types: ['catalog'] },
  protocols: { values: ['support'] },
  stores: { values: ['aws', 'support'], types: ['money'] },
  aws: { values: ['http-client', 'support'] },
  'http-client': { values: ['support'] },
  otlp: { values: ['support'], types: ['stores'] },
  alerts: { values: ['support', 'webhooks'] },
  webhooks: { values: ['support'], types: ['stores'] },
  telemetry: { values: ['support'] },
  web: { values: ['http', 'support'] },
  support: { values: [] },
};

/** Files on the first floor of lambdas/, and single ones of other rooms, that a room may import as code. */
const contracts = {
  admin: ['operations.ts', 'tables.ts', 'catalog/account.ts', 'catalog/scope.ts'],
  catalog: ['bedrock.ts'],
  upstreams: ['bedrock.ts'],
  http: ['log-events.ts', 'routes.ts'],
  endpoints: ['log-events.ts'],
  routing: ['log-events.ts'],
  records: ['log-events.ts'],
  stores: ['log-events.ts', 'operations.ts', 'tables.ts'],
  otlp: ['log-events.ts', 'tables.ts'],
  alerts: ['log-events.ts'],
  telemetry: ['log-events.ts', 'metrics.ts'],
  support: ['log-events.ts'],
};

const room = (name) => `^lambdas/${name}/`;
const file = (name) => `^lambdas/${name.replace('.', '\\.')}$`;
const anyOf = (patterns) => patterns.join('|');

const roomRules = Object.entries(rooms).flatMap(([name, { values, types = [] }]) => {
  const files = (contracts[name] ?? []).map(file);
  const open = [name, ...values].map(room).concat(files);
  const typesOnly = {
    name: `${name}-takes-only-types`,
    severity: 'error',
    from: { path: room(name) },
    to: {
      path: anyOf(types.map(room)),
      ...(files.length > 0 && { pathNot: anyOf(files) }),
      dependencyTypesNot: ['type-only'],
    },
  };
  return [
    {
      name: `${name}-reaches-too-far`,
      severity: 'error',
      from: { path: room(name) },
      to: { path: '^lambdas/', pathNot: anyOf([...open, ...types.map(room)]) },
    },
    ...(types.length > 0 ? [typesOnly] : []),
  ];
});

module.exports = {
  forbidden: [
    {
      name: 'no-circle',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-dead-end',
      comment:
        'An import that leads nowhere would slip past every other rule. The drivers have their own packages.',
      severity: 'error',
      from: { pathNot: '^test/zoo/drivers/' },
      to: { couldNotResolve: true },
    },
    ...roomRules,
    {
      name: 'protocols-do-not-know-each-other',
      comment: 'The shared rooms serve every protocol, and know none.',
      severity: 'error',
      from: { path: '^lambdas/protocols/([^/]+)/' },
      to: {
        path: '^lambdas/protocols/[^/]+/',
        pathNot: '^lambdas/protocols/($1|bytes|cache|ledger|rejections|streams|thinking|tools)/',
      },
    },
    {
      name: 'stores-are-interfaces',
      comment: 'Only entries choose a store; the interfaces do not know their implementations.',
      severity: 'error',
      from: { path: '^lambdas/', pathNot: '^lambdas/(stores/dynamo/|(router|admin|alerts)\\.ts$)' },
      to: { path: '^lambdas/stores/[^/]+/' },
    },
    {
      name: 'sdk-only-at-the-walls',
      severity: 'error',
      from: {
        path: '^lambdas/',
        pathNot: '^lambdas/(stores/dynamo/sdk-client\\.ts$|(router|admin|otlp|alerts)\\.ts$)',
      },
      to: { path: '@(aws-sdk|smithy)/' },
    },
    {
      name: 'entries-are-not-imported',
      severity: 'error',
      from: { path: '^(lambdas|local|lib|bin)/', pathNot: '^lambdas/web\\.ts$' },
      to: { path: '^lambdas/(router|admin|console-files|web|otlp|alerts)\\.ts$' },
    },
    {
      name: 'command-line-knows-only-the-wire',
      comment: 'It operates routers of other versions too.',
      severity: 'error',
      from: { path: '^cli/' },
      to: {
        path: '^(bin|lib|lambdas|local|test|bench)/',
        pathNot: '^lambdas/(clients|operations|support/read-instant)\\.ts$',
      },
    },
    {
      name: 'console-takes-only-types',
      comment: 'It runs in a browser and shares the shapes of the admin API.',
      severity: 'error',
      from: { path: '^console/' },
      to: {
        path: '^(bin|lib|local|cli|lambdas|test|bench)/',
        pathNot: '^lambdas/((admin|history|records|stores)/|(clients|operations)\\.ts$)',
      },
    },
    {
      name: 'console-runs-nothing-of-the-router',
      severity: 'error',
      from: { path: '^console/' },
      to: {
        path: '^lambdas/',
        pathNot: '^lambdas/(clients|operations)\\.ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'console-is-bundled-not-imported',
      severity: 'error',
      from: { path: '^(bin|lib|local|cli|lambdas|bench)/' },
      to: { path: '^console/', pathNot: '^console/bundle\\.ts$' },
    },
    {
      name: 'router-knows-no-bundler',
      severity: 'error',
      from: { path: '^lambdas/' },
      to: { path: '^console/' },
    },
    {
      name: 'infrastructure-takes-only-contracts',
      severity: 'error',
      from: { path: '^(lib|bin)/' },
      to: {
        path: '^(lambdas|local|test|bench)/',
        pathNot: '^lambdas/((bedrock|env|log-events|metrics|routes|tables)\\.ts$|catalog/)',
      },
    },
    {
      name: 'runtime-never-imports-infrastructure',
      severity: 'error',
      from: { path: '^(lambdas|local)/' },
      to: { path: '^(lib|bin)/|(^|/)(aws-cdk-lib|constructs|cdk-nag)(/|$)' },
    },
    {
      name: 'router-knows-nothing-of-its-test-bed',
      severity: 'error',
      from: { path: '^lambdas/' },
      to: { path: '^(local|test|bench)/' },
    },
    {
      name: 'local-is-no-test',
      severity: 'error',
      from: { path: '^local/' },
      to: { path: '^(test|bench)/' },
    },
  ],
  options: {
    // Sees `import type` too, which compiling would drop.
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
    },
  },
};
