import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { bundle } from '../../lib/bundle/bundle.ts';
import { checkSeed, readCatalog } from '../../lib/read-catalog.ts';
import { readStage } from '../../lib/stage.ts';
import { createApp, exampleModels } from './synth.ts';

const folder = mkdtempSync(join(tmpdir(), 'catalog-'));
afterAll(() => rmSync(folder, { recursive: true }));

const write = (name: string, data: unknown): string => {
  const path = join(folder, name);
  writeFileSync(path, typeof data === 'string' ? data : JSON.stringify(data));
  return path;
};

/** As `cdk synth -c catalog=…` reads it. */
const read = (catalog?: string) =>
  readCatalog(createApp(catalog === undefined ? {} : { catalog }).node);

const ownModels = exampleModels.slice(0, 1).map((model) => ({ ...model, id: 'acme/own-1' }));

describe('readCatalog', () => {
  test('the default catalog is used without the option catalog', () => {
    expect(read()).toEqual({ file: undefined, models: exampleModels });
  });

  test('the option catalog accepts a path relative to the current directory', () => {
    const file = write('own.json', ownModels);
    expect(read(relative(process.cwd(), file))).toEqual({ file, models: ownModels });
  });

  test('an invalid catalog is rejected with its file and the path of every invalid field', () => {
    const [model] = ownModels;
    const [target] = model?.targets ?? [];
    const file = write('faulty.json', [
      { ...model, context_length: '1M', targets: [{ ...target, baseUrl: 'ftp://x', surplus: 1 }] },
    ]);
    const message = (() => {
      try {
        return String(read(file).models.length);
      } catch (error) {
        return error instanceof Error ? error.message : '';
      }
    })();
    expect(message).toContain(`${file}: The catalog is not valid.`);
    expect(message).toContain('at [0].context_length');
    expect(message).toContain('at [0].targets[0].baseUrl');
    expect(message).toContain('surplus');
  });

  test.each([
    ['a name with a space', { 'x title': 'a' }, 'headers["x title"]'],
    ['a line break', { 'x-title': 'a\n' }, 'must be printable ASCII'],
    ['an accent', { 'x-title': 'Café' }, 'must be printable ASCII'],
  ])(
    'a catalog with %s in headers is rejected, because no request could be sent',
    (name, headers, message) => {
      const [model] = ownModels;
      const targets = model?.targets.map((target) => ({ ...target, headers }));
      const file = write(`${name}.json`, [{ ...model, targets }]);
      expect(() => read(file)).toThrow(message);
    },
  );

  test.each([
    ['missing', '/nowhere.json', /\/nowhere\.json: ENOENT/],
    ['not JSON', write('text.json', 'models: []'), /text\.json: .*JSON/],
    ['empty', write('empty.json', []), /empty\.json: The catalog is not valid/],
  ])('a catalog file that is %s is rejected', (_, file, message) => {
    expect(() => read(file)).toThrow(message);
  });
});

test.each<[what: string, seed: object, message: RegExp | undefined]>([
  [
    'plans and keys that the catalog can serve',
    { plans: [{ id: 'a', require: { region: ['eu'] } }], keys: [{}] },
    undefined,
  ],
  [
    'a label that no target has',
    { plans: [{}, { require: { region: ['moon'] } }] },
    /^.*seed.json: plans\.1\.require: no target of the catalog is labelled region moon\.$/,
  ],
  [
    'labels that no target has at once',
    { plans: [{ require: { region: ['us'], retention: ['none'] } }] },
    /labelled region us and retention none/,
  ],
  [
    'labels of another model than the plan has',
    { plans: [{ models: ['acme/us'], require: { region: ['eu'] } }] },
    /labelled region eu/,
  ],
  [
    'a key with such a label',
    { keys: [{ require: { retention: ['90d'] } }] },
    /keys\.0\.require: .*retention 90d/,
  ],
  [
    'a model that the catalog does not have',
    { plans: [{ models: ['acme/none'] }] },
    /plans\.0\.models: unknown model acme\/none/,
  ],
])('a synthesis with a seed of %s ends with what no target has', (_, seed, message) => {
  const [eu, us] = [
    { region: 'eu', retention: 'none' },
    { region: 'us', retention: '30d' },
  ].map((labels) => ({
    ...exampleModels[0],
    id: `acme/${labels.region}`,
    targets: exampleModels[0]?.targets.map((target) => ({ ...target, ...labels })),
  }));
  const node = createApp({
    catalog: write('two.json', [eu, us]),
    seed: write('seed.json', seed),
  }).node;
  const { models } = readCatalog(node);
  if (message) expect(() => checkSeed(node, models)).toThrow(message);
  else expect(() => checkSeed(node, models)).not.toThrow();
  expect(() => readStage(node)).not.toThrow();
});

test('router and admin bundles contain the catalog of the deployment', () => {
  const catalog = write('bundled.json', ownModels);
  for (const entry of ['lambdas/router.ts', 'lambdas/admin.ts']) {
    const { file } = bundle({ entry, outdir: join(folder, entry), catalog });
    const script = readFileSync(file, 'utf8');
    expect(script).toContain('acme/own-1');
    expect(script).not.toContain('aurora/scribe-1');
  }
});
