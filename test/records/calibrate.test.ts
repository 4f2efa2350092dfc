import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Target } from '../../lambdas/catalog/catalog.ts';
import { FAMILIES, framingOf } from '../../lambdas/catalog/families.ts';
import { parseModels } from '../../lambdas/catalog/parse-models.ts';
import { labelsOf } from '../../lambdas/metrics.ts';
import { systemClock } from '../../lambdas/support/clock.ts';
import { createTelemetry } from '../../lambdas/telemetry/create-telemetry.ts';
import { listen } from '../../local/loopback.ts';
import type { LocalRouter } from '../../local/start.ts';
import { readRequests } from '../lambdas/catalog/counting/checking-texts.ts';
import { bodyOf, trueCountsOf } from '../lambdas/catalog/counting/score.ts';
import { watchLine } from '../support/leak-watch.ts';
import { post, startWatched } from '../support/local.ts';
import { linesIn } from '../support/log-line.ts';
import { pointsIn } from '../support/metrics.ts';
import { modelOn, targetAt } from '../support/models.ts';
import { runCli } from '../support/run-cli.ts';
import { chatWire } from '../support/translate.ts';

/** The vendor's tokenizer and prompt template, counted outside of this project; see decision 5. */
const FAMILY = 'claude-4.7';
const RECEIPTS = 30;

const requests = readRequests().flatMap((composed) => {
  const tokens = trueCountsOf(composed)?.[FAMILY];
  const body = bodyOf(composed);
  return tokens === undefined || JSON.stringify(body).length > 60_000 ? [] : [{ body, tokens }];
});

/** A provider that reports what the vendor counts, or no usage. */
const startProvider = async () => {
  let reported: number | undefined;
  const { url, close } = await listen(
    createServer((request, response) => {
      request.resume().on('end', () => {
        const usage = reported && { prompt_tokens: reported, completion_tokens: 1 };
        const text = chatWire([
          { choices: [{ index: 0, delta: { content: 'ok' }, finish_reason: null }] },
          { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], ...(usage && { usage }) },
        ]);
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
      });
    }),
  );
  return {
    url,
    close,
    report: (tokens: number | undefined) => {
      reported = tokens;
    },
  };
};

let provider: Awaited<ReturnType<typeof startProvider>>;
const routers: LocalRouter[] = [];
beforeAll(async () => {
  provider = await startProvider();
});
afterAll(async () => {
  await Promise.all(routers.map((router) => router.close()));
  await provider.close();
});

/** A router whose only target counts like this, and its log. */
const startRouter = async (counting: NonNullable<Target['counting']>) => {
  const written: string[] = [];
  const catalog = parseModels([modelOn([targetAt(provider.url, { model: 'unknown', counting })])]);
  const log = createTelemetry({
    ...{ stage: 'test', labels: labelsOf(catalog, 100), clock: systemClock },
    write: (text) => {
      const lines = linesIn(text);
      lines.forEach(watchLine);
      written.push(...lines);
    },
  });
  const router = await startWatched({ catalog, secrets: { secret: 'credential' }, log });
  routers.push(router);
  const ask = async ({ body, tokens }: { body: object; tokens?: number }): Promise<string[]> => {
    provider.report(tokens);
    const from = written.length;
    const response = await post(router, '/v1/chat/completions', { ...body, model: 'vendor/model' });
    expect(response.status).toBe(200);
    await response.text();
    return written.slice(from);
  };
  return { router, ask };
};

/** The metric of one request, without its sign. */
const errorIn = (lines: string[]): number => {
  const point = pointsIn(lines).find(({ series }) => series.includes('TokenEstimateError'));
  return Math.abs(point?.value ?? Number.NaN);
};

const medianOf = (errors: number[]): number =>
  errors.toSorted((one, other) => one - other)[Math.floor(errors.length / 2)] ?? Number.NaN;

describe('what the router learns from the tokens that providers count', () => {
  test('the block that calibrate prints after 30 requests brings the estimate of others within 2 % of the truth', async () => {
    expect(requests.length).toBeGreaterThan(RECEIPTS + 10);
    const wrong = await startRouter({ family: FAMILY, framing: framingOf(FAMILIES.glm.framing) });
    const before: number[] = [];
    for (const request of requests.slice(0, RECEIPTS))
      before.push(errorIn(await wrong.ask(request)));
    // From the tenth answer on, estimates are corrected without an operator.
    expect(Math.min(...before.slice(0, 9))).toBeGreaterThan(20);
    expect(medianOf(before.slice(12))).toBeLessThan(5);
    const args = ['calibrate', 'vendor/model', '--url', wrong.router.baseUrl];
    const { code, out, err } = await runCli(args);
    expect([code, err]).toEqual([0, expect.stringContaining('Paste the block')]);
    expect(out).toContain(`primary/unknown  [0].targets[0]  ${RECEIPTS} receipts`);
    expect(out).toMatch(/median error before: 3\d(?:\.\d)? % .*, after: [012](?:\.\d)? %/);
    const [, block = ''] = out.split('"counting": ');
    const right = await startRouter(JSON.parse(block));
    const errors: number[] = [];
    for (const request of requests.slice(RECEIPTS)) errors.push(errorIn(await right.ask(request)));
    expect(medianOf(errors)).toBeLessThanOrEqual(2);
    expect(Math.max(...errors)).toBeLessThan(10);
  });

  test('nine receipts are too few for a block, and calibrate states what is needed', async () => {
    const { router, ask } = await startRouter({ family: FAMILY });
    for (const request of requests.slice(0, 9)) await ask(request);
    const { code, out } = await runCli(['calibrate', 'vendor/model', '--url', router.baseUrl]);
    expect(code).toBe(0);
    expect(out).toMatch(/9 receipts\nToo few to fit: 10 requests/);
  });

  test('a response without usage is logged as an estimate, has no error metric, and is no receipt', async () => {
    const { router, ask } = await startRouter({});
    const [request] = requests;
    const lines = await ask({ body: request?.body ?? {} });
    const text = lines.join('');
    expect(text).toMatch(/"inputTokens":\d+.*"inputEstimated":true/);
    expect(text).not.toMatch(/estimatedInputTokens|TokenEstimateError/);
    const { out } = await runCli(['calibrate', 'vendor/model', '--url', router.baseUrl]);
    expect(out).toContain('0 receipts');
  });

  test('calibrate of a model that the catalog lacks ends with exit code 1 and its name', async () => {
    const { router } = await startRouter({});
    const { code, err } = await runCli(['calibrate', 'vendor/none', '--url', router.baseUrl]);
    expect([code, err]).toEqual([1, expect.stringContaining("no model 'vendor/none'")]);
  });
});
