import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { read } from './pins.ts';

/** What a new reader asks, the links that lead from docs/README.md to the answer, and what the answer has. */
const QUESTIONS: [question: string, path: [string, string?], answer: RegExp][] = [
  ['Which address does an SDK of OpenAI get?', ['calling.md#point-a-client-at-it'], /with `\/v1`/],
  ['Which name has a request?', ['calling.md#what-a-response-tells'], /`x-request-id`/],
  ['May I send a request that got 429 again?', ['calling.md#errors'], /429 .*`retry-after`/],
  ['Is a 503 charged?', ['metering.md#the-unit'], /4xx or 5xx response is free/],
  [
    'Is a stream charged that breaks off?',
    ['metering.md#the-unit'],
    /ends with an error event is free/,
  ],
  ['How do I repeat a request without paying twice?', ['replay.md'], /Idempotency-Key/],
  ['Can a response outlive my connection?', ['calling.md', 'stored-responses.md'], /background/],
  ['Does Claude Code work?', ['agents.md'], /Claude Code/],
  [
    'What if the model does not know a field?',
    ['calling.md#what-a-response-tells'],
    /x-router-dropped/,
  ],
  ['How do I deploy?', ['operating.md', 'deploy.md'], /cdk deploy/],
  ['How do I roll back the code alone?', ['on-call.md', 'deploy.md#rollback'], /update-function/],
  ['What does an idle stage cost?', ['deploy.md#what-it-costs'], /idle prod stage costs \$\d+/],
  [
    'How many streams does one environment hold?',
    ['deploy.md#what-it-costs', 'operations.md#the-web-function'],
    /64/,
  ],
  ['How do I make a key?', ['operating.md'], /keys create --project/],
  ['How do I rotate a key?', ['operating.md', 'admin.md#effects-of-each-command'], /rotate/],
  ['Who may pause a key?', ['admin.md#roles'], /pause, resume, rotate/],
  [
    'How do I keep prompts in the EU?',
    ['operating.md', 'providers.md#policies'],
    /--require region=eu/,
  ],
  ['What happens when a model retires?', ['providers.md#retirement'], /not served/],
  ['How do I stop at 25 dollars a day?', ['finance.md'], /--max-usd 25 --period day/],
  ['What did each team spend?', ['finance.md'], /usage --since .* --by project/],
  ['Does the invoice agree?', ['costs.md#does-the-provider-agree'], /reconcile --provider/],
  [
    'Whom does an alarm reach?',
    ['operations.md#stage-options'],
    /`alarmEmail`|`alertSlack`|`alertWebhook`/,
  ],
  [
    'A provider rejects our credential: what now?',
    ['on-call.md', 'operations.md#upstream-credential-refused'],
    /put-secret-value|secret/,
  ],
  ['What happened to this request?', ['on-call.md#one-request'], /requests REQUEST-ID/],
  ['How do I see it in Grafana?', ['records.md#at-prometheus'], /grafana\.json/],
  [
    'Are prompts stored?',
    ['../SECURITY.md#what-is-stored-and-where'],
    /Does not hold[\s\S]*prompts/,
  ],
  ['Which tests does a change need?', ['../CONTRIBUTING.md'], /npm test/],
];

const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

/** A page, or its section of a link's anchor with the sections below it. */
const textAt = (link: string): string => {
  const [page = '', anchor] = link.split('#');
  const text = read(page);
  if (anchor === undefined) return text;
  const lines = text.split('\n');
  const depthOf = (line: string) => /^(#+) /.exec(line)?.[1]?.length ?? 7;
  const start = lines.findIndex(
    (line) => depthOf(line) < 7 && anchorOf(line.replace(/^#+ /, '')) === anchor,
  );
  if (start < 0) return '';
  const depth = depthOf(lines[start] ?? '');
  const length = lines.slice(start + 1).findIndex((line) => depthOf(line) <= depth);
  return lines.slice(start, length < 0 ? undefined : start + 1 + length).join('\n');
};

test.each(QUESTIONS)(
  'docs/README.md answers in at most two links: %s',
  (_, [first, second], answer) => {
    expect(read('docs/README.md')).toContain(`](${first})`);
    const page = normalize(join('docs', first));
    if (second === undefined) return expect(textAt(page)).toMatch(answer);
    const links = [...read(page.split('#')[0] ?? '').matchAll(/\]\(([^)#]*)(#[^)]*)?\)/g)].map(
      ([, path = '', anchor = '']) => normalize(join(dirname(page), path)) + anchor,
    );
    const next = normalize(join('docs', second));
    expect(links).toContain(next);
    expect(textAt(next)).toMatch(answer);
  },
);
