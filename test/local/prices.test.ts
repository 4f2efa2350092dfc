import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const folder = temporaryFolder('prices');

const compare = (prices: object | undefined) => {
  const file = join(folder, 'models.json');
  const target = {
    ...{ upstream: 'anthropic', protocol: 'messages', model: 'claude-opus-4-5', secret: 'a' },
    ...{ baseUrl: 'https://api.anthropic.com', ...(prices && { prices }) },
  };
  const model = {
    ...{ id: 'anthropic/opus', display_name: 'Opus', created: 1, owned_by: 'anthropic' },
    ...{ context_length: 200_000, max_output_tokens: 64_000 },
    ...{ streaming: true, tools: true, vision: true, input_price_per_m: 5, output_price_per_m: 20 },
    targets: [target],
  };
  writeFileSync(file, JSON.stringify([model]));
  const { status, stdout, stderr } = spawnSync(process.execPath, ['local/prices.ts', file], {
    encoding: 'utf8',
  });
  return { status, lines: stdout.trimEnd().split('\n'), stderr };
};

const PUBLISHED = {
  ...{ from: '2026-01-01', input: 5, output: 25, cache_read: 0.5 },
  ...{ cache_write_5m: 6.25, cache_write_1h: 10 },
};

test('npm run prices prints each price of a catalog that differs from the public table, and the number of them', () => {
  const { status, lines } = compare(undefined);
  expect(status).toBe(1);
  expect(lines).toContain(
    'anthropic/opus  anthropic/claude-opus-4-5  output  catalog 20  table 25',
  );
  expect(lines).toContain(
    'anthropic/opus  anthropic/claude-opus-4-5  cache_write_1h  catalog none  table 10',
  );
});

test('npm run prices ends with 0 if each price of the catalog is that of the public table', () => {
  expect(compare({ currency: 'USD', versions: [PUBLISHED] })).toEqual({
    ...{ status: 0, lines: ['0 prices differ'], stderr: '' },
  });
});

test('npm run prices names an invalid price by its place', () => {
  const { status, stderr } = compare({ currency: 'USD', versions: [{ ...PUBLISHED, input: -1 }] });
  expect(status).toBe(2);
  expect(stderr).toContain('versions[0].input');
});

test('npm run prices says of a file that is not a catalog which it is and what is wrong with it', () => {
  const run = (text: string) => {
    const file = join(folder, 'broken.json');
    writeFileSync(file, text);
    const { status, stderr } = spawnSync(process.execPath, ['local/prices.ts', file], {
      encoding: 'utf8',
    });
    return [status, stderr.replaceAll(file, 'FILE')];
  };
  expect(run('{bad')).toEqual([2, 'Cannot read FILE: not valid JSON.\n']);
  const [status, text] = run('{}');
  expect(status).toBe(2);
  expect(text).toMatch(/^FILE: The catalog is not valid/);
});
