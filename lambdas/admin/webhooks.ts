import type { Webhook, WebhookStore } from '../stores/webhook-store.ts';
import { DAY_MS, formatInstant } from '../support/clock.ts';
import { invalidRequest, notFound } from '../support/errors.ts';
import { namesInner } from '../webhooks/post.ts';
import { mintSigningSecret } from '../webhooks/sign.ts';
import type { Operation, OperationParts } from './operation.ts';
import { requireProject } from './projects.ts';

/** Both secrets sign for so long after a change, in which its receiver learns the new one. */
const OVERLAP_MS = DAY_MS;

/** Without its secrets. */
const publicWebhook = (project: string, { url, setAt, previous }: Webhook, now: number) => ({
  project,
  url,
  set_at: formatInstant(setAt),
  ...(previous && previous.until > now && { previous_secret_until: formatInstant(previous.until) }),
});

const invalidUrl = (what: string) => invalidRequest(`url: ${what}.`, { param: 'url' });

/** @throws ApiError 400 */
const checkUrl = (text: string, mayReachInner: boolean): void => {
  const url = URL.parse(text);
  if (url?.protocol !== 'https:' && !(mayReachInner && url?.protocol === 'http:')) {
    throw invalidUrl('must be an https URL');
  }
  if (url.username !== '' || url.password !== '' || url.hash !== '') {
    throw invalidUrl('must have no user, password or fragment');
  }
  if (!mayReachInner && namesInner(url)) {
    throw invalidUrl('must not be an address of this machine, a private network or link-local');
  }
};

/** The address to which the events of a project's background responses are sent, and the secret that signs them. */
export const webhookHandlers = (parts: OperationParts) => {
  const { projects, mayReachInner = false, clock, randomBytes } = parts;
  const open = (): WebhookStore => {
    if (parts.openWebhooks) return parts.openWebhooks();
    throw notFound('This router has no webhooks.');
  };

  const find = async (project: string): Promise<Webhook> => {
    await requireProject(projects, project);
    const found = await open().find(project);
    if (found) return found;
    throw notFound(`Project '${project}' has no webhook.`);
  };

  const show = (async ({ parameters: { project = '' } }) => ({
    status: 200,
    body: publicWebhook(project, await find(project), clock.now()),
  })) satisfies Operation<'webhooks.show'>;

  const set = (async ({ parameters: { project = '' }, input }) => {
    await requireProject(projects, project);
    checkUrl(input.url, mayReachInner);
    const now = clock.now();
    const stored = await open().find(project);
    const secret = mintSigningSecret(randomBytes);
    const previous = stored && { secret: stored.secret, until: now + OVERLAP_MS };
    const webhook = { url: input.url, secret, ...(previous && { previous }), setAt: now };
    await open().put(project, webhook);
    const after = publicWebhook(project, webhook, now);
    const before = stored && publicWebhook(project, stored, now);
    return { status: 200, body: { ...after, secret }, changes: [{ before, after }] };
  }) satisfies Operation<'webhooks.set'>;

  const remove = (async ({ parameters: { project = '' } }) => {
    const before = publicWebhook(project, await find(project), clock.now());
    await open().remove(project);
    return { status: 200, body: { ...before, deleted: true }, changes: [{ before }] };
  }) satisfies Operation<'webhooks.delete'>;

  return { 'webhooks.show': show, 'webhooks.set': set, 'webhooks.delete': remove };
};
