import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import models from '../../lambdas/catalog/models.json' with { type: 'json' };
import { readOwnCatalog } from '../../local/own-catalog.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'own-catalog-'));
});
afterAll(() => rm(folder, { recursive: true }));

const file = async (name: string, content: string): Promise<string> => {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
};

const read = async (catalog: string, secrets: string) =>
  readOwnCatalog({
    catalog: await file('catalog.json', catalog),
    secrets: await file('secrets.json', secrets),
  });

const SECRETS = JSON.stringify({ aurora: 'a', borealis: 'b' });

test('a valid catalog keeps the addresses of its targets', async () => {
  const { catalog, secrets } = await read(JSON.stringify(models), SECRETS);
  expect(catalog).toMatchObject(models);
  expect(secrets).toEqual({ aurora: 'a', borealis: 'b' });
});

test('a catalog of 0.2 that names a file of a vocabulary starts without the file', async () => {
  const counting = { family: 'glm', tokenizer: './none.json' };
  const old = models.map((model) => ({
    ...model,
    targets: model.targets.map((target) => ({ ...target, counting })),
  }));
  const { catalog } = await read(JSON.stringify(old), SECRETS);
  expect(catalog[0]?.targets[0]?.counting?.family).toBe('glm');
});

test('an invalid catalog is rejected with its file and the path of the field', async () => {
  const wrong = [{ ...models[0], context_length: 'long' }];
  await expect(read(JSON.stringify(wrong), SECRETS)).rejects.toThrow(
    /catalog\.json: [\s\S]*\[0\]\.context_length/,
  );
});

test('a missing file, a missing credential and invalid JSON are rejected by name', async () => {
  const paths = { catalog: join(folder, 'none.json'), secrets: join(folder, 'none.json') };
  await expect(readOwnCatalog(paths)).rejects.toThrow(/none\.json/);
  await expect(read(JSON.stringify(models), '{"aurora":"a"}')).rejects.toThrow(
    /missing credentials: borealis/,
  );
  const catalog = await file('catalog.json', JSON.stringify(models));
  await expect(readOwnCatalog({ catalog })).rejects.toThrow(
    /needs credentials: aurora, borealis\. Add --secrets/,
  );
  await expect(read('[', SECRETS)).rejects.toThrow(/catalog\.json: not valid JSON/);
});

test('the error for an invalid credentials file does not quote it', async () => {
  await expect(read(JSON.stringify(models), '{"aurora": sk-very-secret')).rejects.toThrow(
    expect.not.objectContaining({ message: expect.stringContaining('sk-very') }),
  );
});

test.each([
  [{ aurora: 5, borealis: 'b' }, "The credential 'aurora' must be a text."],
  [{ aurora: '', borealis: 'b' }, "The credential 'aurora' is empty."],
  [{ aurora: 'very\nsecret', borealis: 'b' }, "The credential 'aurora' must have no line break"],
  [{ aurora: 'secret ', borealis: 'b' }, 'no space at an end'],
  [['secret'], 'must be a JSON object'],
])('credentials %j are rejected with %j and without their values', async (secrets, line) => {
  const rejected = read(JSON.stringify(models), JSON.stringify(secrets));
  await expect(rejected).rejects.toThrow(line);
});

const withTarget = (change: object): string => {
  const [model, ...others] = models;
  const [target, ...rest] = model?.targets ?? [];
  return JSON.stringify([{ ...model, targets: [{ ...target, ...change }, ...rest] }, ...others]);
};

test('an unknown profile is rejected with the list of presets', async () => {
  await expect(read(withTarget({ profile: 'gtp-5' }), SECRETS)).rejects.toThrow(
    /must be a preset: .*gpt-5\.1.*\n.*\[0\]\.targets\[0\]\.profile/,
  );
});

test.each([
  [{ thinkng: ['adaptive'] }, /must not have thinkng\n.*\[0\]\.targets\[0\]\.profile$/m],
  [{ stop: 'no' }, /must be a boolean\n.*\[0\]\.targets\[0\]\.profile\.stop$/m],
  [{ betas: ['a', 1] }, /must be a string\n.*\[0\]\.targets\[0\]\.profile\.betas\[1\]$/m],
  [5, /must be a preset, or an object with members of a profile\n.*\.profile$/m],
])('the profile %j is rejected with the place of what is wrong in it', async (profile, words) => {
  await expect(read(withTarget({ profile }), SECRETS)).rejects.toThrow(words);
});

test.each(['/v1/messages', '/v1/chat/completions', '/v1/responses/'])(
  'an address that ends in %s is rejected, because the router adds the path',
  async (path) => {
    const baseUrl = `https://api.example.com${path}`;
    await expect(read(withTarget({ baseUrl }), SECRETS)).rejects.toThrow(
      /must end before the path of the protocol/,
    );
  },
);
