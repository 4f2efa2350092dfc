import * as z from 'zod';
import type { Model, Target } from '../catalog/catalog.ts';
import { credentialOf, wireTargetOf } from '../protocols/protocol.ts';
import { callerProtocols, upstreamProtocols } from '../protocols/protocols.ts';
import { dayOf } from '../support/clock.ts';
import type { UpstreamSecrets } from '../upstreams/secrets.ts';
import type { Check } from './check.ts';

/** The day of retirement in OpenAI's model list, Anthropic's, Mistral's and OpenRouter's; null: none is announced. */
const DATES = ['shutdown_date', 'retires_at', 'deprecation', 'expiration_date'] as const;

const Listed = z.looseObject({ id: z.string() });
type Listed = z.infer<typeof Listed>;
const ModelList = z.object({ data: z.array(Listed) });

/** Whether the target's provider can be asked for the models of its account. */
export const hasList = ({ protocol, secret }: Target): boolean =>
  secret !== undefined && upstreamProtocols[protocol].modelList !== undefined;

/** Above the largest list, OpenRouter's, several times. */
const MAX_BYTES = 8 * 1024 * 1024;

type Fetching = { url: URL; headers: Record<string, string>; signal: AbortSignal };

/** The JSON at the address; undefined for an error of the provider. */
const read = async ({ url, headers, signal }: Fetching): Promise<unknown> => {
  // The credential must not reach another host.
  const response = await fetch(url, { headers, redirect: 'error', signal });
  const length = Number(response.headers.get('content-length') ?? 0);
  if (response.ok && length <= MAX_BYTES) return response.json();
  await response.body?.cancel();
  return undefined;
};

/** What the provider lists of a target's model: at the address of the model or, where there is none, in the whole list. */
const readListed = async (
  model: Model,
  target: Target,
  { secrets, signal }: { secrets: Pick<UpstreamSecrets, 'get'>; signal: AbortSignal },
): Promise<Listed | undefined> => {
  const protocol = upstreamProtocols[target.protocol];
  const { headers: ownHeaders, modelList = '' } = protocol;
  const wire = wireTargetOf(target, model.max_output_tokens);
  const { value: secret } = await secrets.get(target.secret ?? '', signal);
  const request = callerProtocols.chat.decodeRequest({
    model: model.id,
    messages: [{ role: 'user', content: 'ok' }],
  });
  const at = async (path: string) => {
    const url = new URL(target.baseUrl);
    url.pathname = url.pathname.replace(/\/$/, '') + path;
    url.searchParams.set('limit', '1000');
    const headers = {
      ...credentialOf(protocol, target, secret),
      ...(ownHeaders?.(request, wire) ?? target.headers),
    };
    return read({ url, headers, signal });
  };
  const one = Listed.safeParse(await at(`${modelList}/${encodeURIComponent(target.model)}`));
  if (one.success) return one.data;
  const all = ModelList.safeParse(await at(modelList));
  return all.data?.data.find(({ id }) => id === target.model);
};

const dayIn = (listed: Listed): string | undefined => {
  const times = DATES.map((name) => Date.parse(String(listed[name])));
  const at = times.find((time) => !Number.isNaN(time));
  return at === undefined ? undefined : dayOf(at);
};

type Finding = Pick<Check, 'result' | 'reason'> & { member?: string };

const compare = ({ retires, targets }: Model, listed: Listed | undefined): Finding => {
  const day = listed && dayIn(listed);
  if (listed === undefined || day === undefined)
    return { result: 'ok', reason: 'The provider lists no date of retirement.' };
  if (day === retires) return { result: 'ok', reason: `The provider retires it on ${day}, too.` };
  const { deprecation_replacement_model: next } = listed;
  const states = retires === undefined ? 'states no date' : `states ${retires}`;
  const todo =
    targets.length === 1
      ? `set retires of the model to "${day}"`
      : 'the other targets serve alone from then on';
  const reason = `The provider retires it on ${day}, the catalog ${states}: ${todo}.`;
  const named = typeof next === 'string' ? ` The provider names ${next} as its successor.` : '';
  return { result: 'warning', member: 'model', reason: reason + named };
};

/**
 * Whether the catalog has the day on which the provider retires a target's model. A provider that cannot be asked, or lists
 * nothing, is not a finding: the other calls show whether it answers.
 */
export const compareRetirement = async (
  model: Model,
  target: Target,
  parts: Parameters<typeof readListed>[2],
): Promise<Finding> =>
  compare(model, await readListed(model, target, parts).catch(() => undefined));
