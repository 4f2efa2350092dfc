import { expect, test } from 'vitest';
import { LOG_EVENTS, LOG_FIELDS } from '../support/log-fields.ts';
import { read } from './pins.ts';

const codeIn = (text: string): string[] =>
  [...text.matchAll(/`([\w-]+)`/g)].map(([, code = '']) => code);

/** What the names of events begin with: `meter`, `upstream`, … */
const roots = new Set(Object.keys(LOG_EVENTS).map((event) => event.split('_')[0]));

test.each(['docs/operations.md', 'docs/metering.md'])(
  '%s names existing log events only',
  (page) => {
    const named = codeIn(read(page)).filter((word) => /^[a-z]+_/.test(word));
    const events = named.filter((word) => roots.has(word.split('_')[0]));
    expect(events).not.toEqual([]);
    expect(events.filter((event) => !Object.hasOwn(LOG_EVENTS, event))).toEqual([]);
  },
);

test('docs/operations.md queries existing log fields only', () => {
  const [, rest = ''] = read('docs/operations.md').split('\n## Log lines\n');
  const [section = ''] = rest.split('\n## ');
  const asked = /^fields @timestamp, ([\w, ]+) \| filter (\w+)/m.exec(section)?.slice(1) ?? [];
  const names = [...codeIn(section), ...asked.join(', ').split(', ')];
  const fields = names.filter((name) => name !== 'x-request-id');
  expect(fields.length).toBeGreaterThan(15);
  expect(fields.filter((field) => !Object.hasOwn(LOG_FIELDS, field))).toEqual([]);
});
