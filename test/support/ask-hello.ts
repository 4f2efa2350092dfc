import type * as z from 'zod';
import type { CallerProtocolName } from '../../lambdas/protocols/protocol-name.ts';
import type { LocalRouter } from '../../local/start.ts';
import { post } from './local.ts';
import { conversationOf, PATHS } from './request-forms.ts';

type Asked = { caller: CallerProtocolName; model: string; stream: boolean };

/** Asks for a hello in a caller's protocol; the response, and of the operator's record of it what `schema` has. */
export const askHello = async <Kept extends object>(
  router: LocalRouter,
  { caller, model, stream }: Asked,
  schema: z.ZodType<Kept>,
) => {
  const response = await post(router, PATHS[caller], {
    ...{ model, stream },
    ...conversationOf(caller, [{ role: 'user', content: 'say hello' }], 100),
  });
  const text = await response.text();
  const headers = { authorization: `Bearer ${router.key}` };
  const id = response.headers.get('x-request-id') ?? '';
  const kept = await fetch(`${router.baseUrl}/admin/requests/${id}`, { headers });
  return { status: response.status, text, ...schema.parse(await kept.json()) };
};
