import { WIRES } from '../support/wires.ts';
import { type Client, DEVIATIONS, idOf, type Language } from './client.ts';
import { SCENES } from './scenes.ts';

/** A client with its mark for each scene: `yes`, `no`, `none` or a remark. */
export type Row = {
  client: Client;
  version: string;
  marks: Record<string, string>;
  failures: string[];
};

const MARKS: Record<string, string> = { yes: '✓', no: '✗', none: '–', deviates: '\\*' };

const line = (cells: string[]): string => `| ${cells.join(' | ')} |`;

const BUSY = '429, then free';

const markOf = ({ marks }: Row, name: string): string =>
  MARKS[marks[name] ?? ''] ?? marks[name] ?? '';

/** The scenes in which a client does not have a tick, by their marks: `– models, image`. */
const exceptionsOf = (row: Row): string => {
  const others = SCENES.filter(({ name }) => name !== BUSY && markOf(row, name) !== MARKS.yes);
  const byMark = Object.groupBy(others, ({ name }) => markOf(row, name));
  return Object.entries(byMark)
    .map(([mark, scenes = []]) => `${mark} ${scenes.map(({ name }) => name).join(', ')}`)
    .join('; ');
};

/** Endpoints of a client on which it did alike are in one row. */
const section = (language: Language, rows: Row[]): string => {
  const alike = Object.groupBy(rows, (row) =>
    [`\`${row.client.package}\` ${row.version}`, markOf(row, BUSY), exceptionsOf(row)].join(' | '),
  );
  return [
    `## ${language}`,
    '',
    line(['Client', BUSY, 'No tick', 'Endpoints']),
    line(['---', '---', '---', '---']),
    ...Object.entries(alike).map(([cells, same = []]) =>
      line([cells, same.map(({ client }) => client.endpoint).join(', ')]),
    ),
  ].join('\n');
};

/** The requests of test/sdk/open-responses.test.ts and test/state/open-responses.test.ts, which hold this section to them. */
const OPEN_RESPONSES = [
  'a text',
  'a stream',
  'a system prompt',
  'a call of a tool',
  'a streamed call of a tool',
  'an image',
  'a file',
  'an earlier message with a phase',
  'a call and its output',
  'several turns',
  'a conversation by previous_response_id',
  'the result of a call of an earlier response',
];

const openResponses = (): string[] => [
  '## Open Responses',
  '',
  'What the suite of [Open Responses](https://www.openresponses.org) asks over HTTP, on a model of each upstream protocol: every response and',
  "every event is valid by the specification's schema (`test/sdk/open-responses.test.ts`). The last two need a deployment with",
  '[stored responses](stored-responses.md) (`test/state/open-responses.test.ts`). Compaction is not offered: `/v1/responses/compact` is a 404.',
  '',
  `On models of ${WIRES.join(', ')}: ${OPEN_RESPONSES.join('; ')}.`,
  '',
];

const ENDPOINTS = '`/v1/chat/completions`, `/v1/messages` and `/v1/responses`';

/** docs/clients.md. */
export const renderPage = (rows: Row[], date: Date): string => {
  const groups = Object.groupBy(rows, ({ client }) => client.language);
  const languages = Object.keys(groups).length;
  const failed = rows.flatMap(({ client, failures }) =>
    failures.map((failure) => `- \`${idOf(client)}\` (${client.language}): ${failure}`),
  );
  return `${[
    '# Clients',
    '',
    `${rows.length} clients in ${languages} languages, driven by \`npm run test:clients\` on ${date.toISOString().slice(0, 10)}.`,
    'The command writes this page. It installs each client from its registry, at the version of the manifests',
    'in `test/zoo/drivers`, and skips a language whose toolchain is not installed.',
    '',
    `Each client calls ${ENDPOINTS}, whichever it speaks,`,
    'of a router in front of an upstream that rejects what its vendor rejects. Every scene is played on two models: one on a chat upstream, one on a messages',
    `upstream. ${SCENES.length} scenes: ${SCENES.map(({ name }) => name).join(', ')}. A client has a tick where both went as they must;`,
    'the column *No tick* has the others.',
    '',
    '- – the client has no such operation; \\* the client itself deviates (listed at the end); ✗ fails',
    '- **parallel tools**: two calls in one answer, both results sent back, and the final text',
    '- **unknown model**: the router answers 400 and names the nearest models; some clients *refuse* the name themselves',
    '- **402**: the client raises and does not ask again',
    '- **429, then free**: the key may run one request at a time, and another one is in flight; after the 429',
    '  a client that *retries* gets its answer, others *raise*',
    '- **broken stream raises**: the upstream resets the connection within the answer',
    '- **usage of a stream**: the token counts are those of the upstream',
    '- **cancel**: the client aborts the stream, and the router ends the request',
    '',
    Object.entries(groups)
      .map(([language, members]) => section(language as Language, members))
      .join('\n\n'),
    '',
    ...openResponses(),
    '## Deviations of clients',
    '',
    ...Object.entries(DEVIATIONS).flatMap(([client, scenes]) =>
      Object.entries(scenes).map(([scene, reason]) => `- \`${client}\`, ${scene}: ${reason}.`),
    ),
    ...(failed.length > 0 ? ['', '## Failures', '', ...failed] : []),
  ].join('\n')}\n`;
};
