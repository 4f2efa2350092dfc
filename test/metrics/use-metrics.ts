import { testModels } from '../metering/test-models.ts';
import { post, useRouter } from '../support/local.ts';
import { readOpenMetrics } from './read-open-metrics.ts';

const TRAFFIC: [model: string, stream: boolean][] = [
  ['test/answers', false],
  ['test/answers', true],
  ['test/answers', true],
  ['test/refuses', false],
  ['test/fails', true],
  ['test/breaks', true],
  ['test/cut', true],
  ['no/such', false],
];

/** A router that has served some requests of each end, and what it answers to a scrape. */
export const useMetrics = () => {
  const quota = { rpm: 1_000_000, tpm: 1_000_000_000 };
  const catalog = testModels().map((model) => ({
    ...model,
    targets: model.targets.map((target) => ({ ...target, quota })),
  }));
  const router = useRouter({ catalog });
  let isServed = false;
  const serve = async () => {
    for (const [model, stream] of isServed ? [] : TRAFFIC) {
      const messages = [{ role: 'user', content: 'say one two three' }];
      const body = { model, stream, max_tokens: 50, messages };
      const response = await post(router(), '/v1/chat/completions', body);
      await response.text().catch(() => undefined);
    }
    isServed = true;
  };
  const scrape = async () => {
    await serve();
    const response = await fetch(`${router().baseUrl}/admin/metrics`);
    return { type: response.headers.get('content-type'), text: await response.text() };
  };
  return Object.assign(async () => readOpenMetrics((await scrape()).text), { router, scrape });
};
