import * as z from 'zod';
import { CliError, messageOf } from './cli-error.ts';

const TIMEOUT_MS = 30_000;
/** More than a month has of any grouping. */
const MAX_PAGES = 500;

export type Api = { baseUrl: string; headers: Record<string, string> };

const get = async <T>({ baseUrl, headers }: Api, path: string, schema: z.ZodType<T>) => {
  const url = new URL(path, baseUrl);
  const failed = (reason: string) => new CliError(1, `${url.origin}${url.pathname}: ${reason}.`);
  let response: Response;
  try {
    // The credential must not reach another host.
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    response = await fetch(url, { headers, redirect: 'error', signal });
  } catch (cause) {
    throw failed(messageOf(cause));
  }
  const text = await response.text();
  if (!response.ok) throw failed(`status ${response.status}; is the credential an admin key?`);
  const parsed = schema.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  throw failed(`the response has another form: ${parsed.error.issues[0]?.path.join('.')}`);
};

/** A page of either provider: buckets of a day each. */
const pageSchema = <R>(result: z.ZodType<R>) =>
  z.object({
    data: z.array(
      z.object({
        starting_at: z.string().optional(),
        start_time: z.number().default(0),
        results: z.array(result),
      }),
    ),
    has_more: z.boolean(),
    next_page: z.string().nullish(),
  });

/** The results of a report with their days, page by page. */
export async function* resultsIn<R>(
  api: Api,
  path: string,
  result: z.ZodType<R>,
): AsyncGenerator<{ day: string; result: R }, void, void> {
  const schema = pageSchema(result);
  let page = '';
  for (let count = 0; count < MAX_PAGES; count += 1) {
    const report = await get(api, path + page, schema);
    for (const { starting_at: at, start_time: seconds, results } of report.data) {
      const day = at?.slice(0, 10) ?? new Date(seconds * 1_000).toISOString().slice(0, 10);
      for (const found of results) yield { day, result: found };
    }
    if (!report.has_more || !report.next_page) return;
    page = `&page=${encodeURIComponent(report.next_page)}`;
  }
  throw new CliError(1, `${api.baseUrl}: the report has more than ${MAX_PAGES} pages.`);
}
