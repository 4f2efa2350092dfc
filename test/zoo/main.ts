import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { LogFields } from '../../lambdas/log-events.ts';
import { type LocalRouter, startLocal } from '../../local/start.ts';
import { type StrictUpstream, startStrictUpstream } from '../support/strict-upstream/server.ts';
import { CLIENTS, type Client, DEVIATIONS, idOf, type Language, type Report } from './client.ts';
import { type Driver, startDriver } from './driver.ts';
import { modelsOn } from './models.ts';
import { type Row, renderPage } from './page.ts';
import { SCENES, type Scene } from './scenes.ts';
import { hasToolchain, prepareDriver, versionOf } from './toolchains.ts';

/**
 * Plays every scene with every client, on a model of each upstream protocol, and writes docs/clients.md.
 * Arguments name the clients to play, by a part of their names; then the page is left as it is.
 */
const PAGE = fileURLToPath(new URL('../../docs/clients.md', import.meta.url));
const BUSY_PROMPT = 'Wait.';

type Zoo = { router: LocalRouter; upstream: StrictUpstream; lines: LogFields[] };

const print = (line: string) => process.stdout.write(`${line}\n`);

/** Holds a request of the key in flight until another one was refused. */
const occupy = async ({ router, lines }: Zoo, key: string, model: string) => {
  const leave = new AbortController();
  const response = await fetch(`${router.baseUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      stream: true,
      messages: [{ role: 'user', content: BUSY_PROMPT }],
    }),
    signal: leave.signal,
  });
  const watch = setInterval(() => {
    if (lines.some(({ status }) => status === 429)) leave.abort();
  }, 20);
  const drained = response.text().catch(() => '');
  return async () => {
    clearInterval(watch);
    leave.abort();
    await drained;
  };
};

const scriptOf = (scene: Scene) => (received: Parameters<NonNullable<Scene['answer']>>[0]) => {
  if (!scene.answer) throw new Error('this scene asks no upstream');
  const isHolder = JSON.stringify(received.body).includes(BUSY_PROMPT);
  return isHolder
    ? { ...scene.answer(received), sizes: [60], pauseMs: 200 }
    : scene.answer(received);
};

type Play = { client: Client; scene: Scene; model: string; driver: Driver };

/** The table's mark. */
const perform = async (zoo: Zoo, { client, scene, model, driver }: Play): Promise<string> => {
  const { router, upstream, lines } = zoo;
  const key = await router.createKey(scene.plan ? { plan: scene.plan } : {});
  upstream.script(scriptOf(scene));
  upstream.take();
  lines.length = 0;
  const release = scene.busy ? await occupy(zoo, key, model) : async () => {};
  let report: Report;
  try {
    report = await driver.play({
      client: idOf(client),
      operation: scene.operation,
      baseUrl: router.baseUrl,
      key: scene.key ?? key,
      model: scene.model ?? model,
      prompt: scene.prompt,
      cancel: scene.cancel ?? false,
    });
  } finally {
    await release();
  }
  if (report.missing) return 'none';
  const own = () => lines.filter(({ route }) => route !== undefined);
  return (await scene.check({ report, received: upstream.take(), lines: own })) ?? 'yes';
};

const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, ' ').slice(0, 300);

/** The marks of both models in one cell. */
const playScene = async (
  zoo: Zoo,
  play: Omit<Play, 'model'>,
  failures: string[],
): Promise<string> => {
  const { client, scene } = play;
  const known = DEVIATIONS[idOf(client)]?.[scene.name];
  const marks = new Set<string>();
  const problems: string[] = [];
  for (const { id: model } of zoo.router.models) {
    try {
      marks.add(await perform(zoo, { ...play, model }));
    } catch (error) {
      problems.push(`${scene.name} on ${model}: ${messageOf(error)}`);
    }
  }
  if (known && problems.length > 0) return 'deviates';
  if (known) problems.push(`${scene.name}: the known deviation does not occur`);
  failures.push(...problems);
  return problems.length > 0 ? 'no' : [...marks].join(', ');
};

const playClient = async (zoo: Zoo, client: Client): Promise<Row> => {
  const driver = startDriver(await prepareDriver(client.language, client.package));
  const marks: Row['marks'] = {};
  const failures: string[] = [];
  try {
    for (const scene of SCENES) {
      marks[scene.name] = await playScene(zoo, { client, scene, driver }, failures);
    }
  } finally {
    driver.close();
  }
  return { client, version: versionOf(client.language, client.package), marks, failures };
};

const report = ({ client, version, failures, marks }: Row) => {
  const count = Object.values(marks).filter((mark) => mark !== 'none' && mark !== 'no').length;
  print(`${client.language} ${idOf(client)} ${version}: ${count} of ${SCENES.length}`);
  for (const failure of failures) print(`  FAIL ${failure}`);
};

const playLanguage = async (zoo: Zoo, language: Language, clients: Client[]): Promise<Row[]> => {
  if (!(await hasToolchain(language))) {
    print(`${language}: skipped, its toolchain is not installed`);
    return [];
  }
  const rows: Row[] = [];
  for (const client of clients) {
    try {
      const row = await playClient(zoo, client);
      report(row);
      rows.push(row);
    } catch (error) {
      print(`${language} ${idOf(client)}: skipped, ${messageOf(error)}`);
    }
  }
  return rows;
};

const startZoo = async (): Promise<Zoo & { close(): Promise<void> }> => {
  const lines: LogFields[] = [];
  const upstream = await startStrictUpstream();
  const router = await startLocal({
    catalog: modelsOn(upstream.urls),
    secrets: { zoo: 'upstream-key' },
    log: {
      info: (event, fields) => {
        if (event === 'request') lines.push(fields);
      },
      warn: () => {},
      error: () => {},
    },
  });
  const close = async () => {
    await router.close();
    await upstream.close();
  };
  return { router, upstream, lines, close };
};

const wanted = process.argv.slice(2);
const isWanted = (client: Client): boolean =>
  wanted.length === 0 || wanted.some((part) => `${client.language} ${idOf(client)}`.includes(part));

const zoo = await startZoo();
const rows: Row[] = [];
try {
  for (const [language, clients] of Object.entries(
    Object.groupBy(CLIENTS, (one) => one.language),
  )) {
    const chosen = clients.filter(isWanted);
    if (chosen.length > 0) rows.push(...(await playLanguage(zoo, language as Language, chosen)));
  }
} finally {
  await zoo.close();
}
const failures = rows.flatMap((row) => row.failures);
print(`\n${rows.length} clients, ${failures.length} failures`);
if (wanted.length === 0) writeFileSync(PAGE, renderPage(rows, new Date()));
else print('docs/clients.md is left as it is: not every client was wanted');
process.exitCode = failures.length > 0 ? 1 : 0;
