/**
 * Peak memory of the function's bundle: `npm run bench:memory`, or `-- 512` for another memory size. Each row is a fresh
 * process with the limits that Lambda gives Node at that size; it answers small requests of the row's kind, whose code it then
 * has, and three large ones.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { bundle } from '../lib/bundle/bundle.ts';
import { AGENT } from './gateway/cases.ts';
import { start, stopAll } from './gateway/processes.ts';
import { environmentOn, modelsAt, startStores } from './gateway/setting.ts';

const MEMORY_MB = Number(process.argv[2] ?? 256);
/** Lambda gives a tenth of the memory to new objects, in two halves, and the rest to old ones. */
const NODE_LIMITS = [
  `--max-semi-space-size=${Math.floor(MEMORY_MB / 20)}`,
  `--max-old-space-size=${MEMORY_MB - Math.floor(MEMORY_MB / 10)}`,
];
const FUNCTION = fileURLToPath(new URL('memory-function.cjs', import.meta.url));
const Peaks = z.object({ small: z.number(), large: z.number(), third: z.number() });

const ENGLISH = 'The quick brown fox reads the log before it writes a line of code. ';
const RUSSIAN = 'Быстрая лиса читает журнал, прежде чем написать строку. ';

/** Text of `bytes` bytes in messages of 4 KB, as long conversations have them. */
const conversation = (text: string, bytes: number) => {
  const content = text.repeat(Math.ceil(4_096 / Buffer.byteLength(text)));
  return Array.from({ length: Math.ceil(bytes / Buffer.byteLength(content)) }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content,
  }));
};

const tools = { ...AGENT, tools: Array.from({ length: 10 }, () => AGENT.tools).flat() };
const namedTools = tools.tools.map((tool, index) => ({ ...tool, name: `tool_${index}` }));

/** How an event holds a body: Lambda has its text, or its bytes in base64, if its content type or encoding is binary. */
type Form = 'text' | 'bytes';

/** To a target of the caller's own protocol. */
const agentOf = (kilobytes: number, form: Form): [string, string, object, Form] => [
  `agent's session of ${kilobytes} KB, as received, in ${form}`,
  '/v1/messages',
  { ...AGENT, model: 'bench/20/messages', messages: conversation(ENGLISH, kilobytes * 1_000) },
  form,
];

const BODIES: [name: string, path: string, body: object, form?: Form][] = [
  agentOf(100, 'text'),
  agentOf(800, 'text'),
  agentOf(800, 'bytes'),
  ['agent with 200 tools, translated', '/v1/messages', { ...tools, tools: namedTools }],
  ...[
    { path: '/v1/chat/completions', way: 'pass-through' },
    { path: '/v1/messages', way: 'translated' },
  ].flatMap(({ path, way }): [string, string, object][] => [
    [`4.5 MB of English, ${way}`, path, { messages: conversation(ENGLISH, 4_500_000) }],
    [`4.5 MB of Russian, ${way}`, path, { messages: conversation(RUSSIAN, 4_500_000) }],
  ]),
];

const folder = mkdtempSync(join(tmpdir(), 'memory-'));

type Target = { key: string; path: string; form: Form };

/** Writes the event of a streamed request. */
const eventFile = (name: string, { key, path, form }: Target, fields: object) => {
  const text = JSON.stringify({ model: 'bench/20', max_tokens: 100, stream: true, ...fields });
  const isBase64Encoded = form === 'bytes';
  const body = isBase64Encoded ? Buffer.from(text).toString('base64') : text;
  const file = join(folder, `${name}.json`);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const requestContext = { http: { method: 'POST', path, sourceIp: '192.0.2.1' }, requestId: 'b' };
  const url = { version: '2.0', rawPath: path, rawQueryString: '', isBase64Encoded };
  writeFileSync(file, JSON.stringify({ ...url, headers, requestContext, body }));
  return file;
};

const run = async (file: string, small: string, large: string, env: Record<string, string>) => {
  const child = spawn(process.execPath, [...NODE_LIMITS, FUNCTION, file, small, large], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  });
  const exited = once(child, 'exit');
  const printed = Buffer.concat(await child.stdout.toArray()).toString();
  await exited;
  return Peaks.parse(JSON.parse(printed.trim().split('\n').at(-1) ?? ''));
};

try {
  const upstream = await start<{ url: string }>('upstream.ts');
  const { key, stores } = await startStores();
  const catalog = join(folder, 'models.json');
  const models = modelsAt(upstream.url).map((model) => ({ ...model, context_length: 10_000_000 }));
  writeFileSync(catalog, JSON.stringify(models));
  const { file } = bundle({ entry: 'lambdas/router.ts', outdir: join(folder, 'bundle'), catalog });
  const hello = [{ role: 'user', content: 'Hello' }];
  const line = (cells: (string | number)[]) =>
    console.log(
      cells.map((cell, index) => (index ? `${cell}`.padStart(14) : `${cell}`.padEnd(44))).join(''),
    );
  line([
    `peak MB at ${MEMORY_MB} MB`,
    'body, KB',
    'small ones',
    'this request',
    'more',
    'three of it',
  ]);
  for (const [name, path, body, form = 'text'] of BODIES) {
    const small = eventFile('small', { key, path, form }, { ...body, messages: hello });
    const large = eventFile('large', { key, path, form }, body);
    const peaks = await run(file, small, large, environmentOn(stores['instant store']));
    const size = Math.round(Buffer.byteLength(JSON.stringify(body)) / 1_024);
    const more = peaks.large - peaks.small;
    line([
      name,
      size,
      peaks.small.toFixed(0),
      peaks.large.toFixed(0),
      more.toFixed(0),
      peaks.third.toFixed(0),
    ]);
  }
} finally {
  stopAll();
  rmSync(folder, { recursive: true });
}
