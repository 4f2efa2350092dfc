import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { UPSTREAM_PROTOCOLS } from '../../lambdas/protocols/protocol-name.ts';
import { listen } from '../../local/loopback.ts';

/** An error as a provider publishes it, and what becomes of it. */
const ProviderError = z.strictObject({
  name: z.string(),
  status: z.int(),
  protocol: z.enum(UPSTREAM_PROTOCOLS).default('chat'),
  /** JSON, or the text of a page. */
  body: z.unknown(),
  kind: z.string(),
  /** Status for a caller, if no other target responds. */
  caller: z.int(),
  /** The clean reason; null if the body has none. */
  reason: z.string().nullable(),
  /** The caller's parameter that a 400 names. */
  param: z.string().optional(),
});
export type ProviderError = z.infer<typeof ProviderError> & { id: string };

const folder = fileURLToPath(new URL('../fixtures/provider-errors', import.meta.url));

export const PROVIDER_ERRORS: ProviderError[] = readdirSync(folder).flatMap((file) =>
  z
    .array(ProviderError)
    .parse(JSON.parse(readFileSync(join(folder, file), 'utf8')))
    .map((error) => ({ ...error, id: `${file.replace('.json', '')}: ${error.name}` })),
);

export const textOf = ({ body }: Pick<ProviderError, 'body'>): string =>
  typeof body === 'string' ? body : JSON.stringify(body);

const Asked = z.object({ model: z.string().optional() });

/** A provider that answers each model with the error of `errorOf`. */
export const startRejectingProvider = async (
  errorOf: (model: string) => { status: number; text: string },
) => {
  const server = createServer(async (request, response) => {
    const { model } = Asked.parse(await json(request));
    // In the path of Gemini's protocol.
    const [, named = ''] = /\/models\/([^:]+):/.exec(request.url ?? '') ?? [];
    const { status, text } = errorOf(model ?? named);
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  });
  return listen(server);
};
