/** Whether a budget of dollars is used up, leased to a request in flight, or less than any request may cost. */
export type BudgetState = 'used up' | 'in flight' | 'too small';

type Answer = { id: string; key: string; spent_usd: number; leased_usd: number };

/** More tokens than an agent's prompt has. */
const LONG_PROMPT = 'word '.repeat(120_000);
/** Before each part of the response of the request in flight, which so takes up to 75 s; an agent needs some of it to start. */
const SLOW = 'fault slow=15000\n';
const LEAST_USD = 0.01;
/** The `user-agent` of requests that a scene sends, which are not the client's. */
export const SCENE_AGENT = 'scene';
let projects = 0;
const spenders = new Set<string>();

/** Whether a key's requests are a scene's: the one in flight ends while later scenes are played. */
export const isSpender = (keyId: string): boolean => spenders.has(keyId);

/** A key under a budget in such a state, which another key has used. */
export const keyUnderBudget = async (
  state: BudgetState,
  { baseUrl, model }: { baseUrl: string; model: string },
): Promise<string> => {
  const send = (path: string, body: object | undefined, headers = {}) =>
    fetch(`${baseUrl}${path}`, {
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      headers: { 'content-type': 'application/json', 'user-agent': SCENE_AGENT, ...headers },
    });
  const admin = async (path: string, body?: object) =>
    (await (await send(`/admin${path}`, body)).json()) as Answer;
  projects += 1;
  const project = `/projects/budget-${projects}`;
  await admin('/projects', { id: `budget-${projects}` });
  await admin('/plans', { id: 'budgets', rpm: 600, quota: 1_000, period: 'month' });
  const setMax = (max_usd: number) => admin(`${project}/budget`, { max_usd, period: 'day' });
  await setMax(state === 'too small' ? LEAST_USD : 100);
  const [key, spender] = await Promise.all([
    admin(`${project}/keys`, { plan: 'budgets' }),
    admin(`${project}/keys`, { plan: 'budgets' }),
  ]);
  spenders.add(spender.id);
  if (state === 'too small') return key.key;
  const content = `${LONG_PROMPT}\n${state === 'in flight' ? SLOW : ''}say hi`;
  const body = { model, messages: [{ role: 'user', content }], max_tokens: 100 };
  const spending = send('/v1/messages', body, { 'x-api-key': spender.key });
  // In flight, it may outlast the router of the scene.
  spending.catch(() => undefined);
  const amount = state === 'used up' ? 'spent_usd' : 'leased_usd';
  if (state === 'used up') await (await spending).text();
  let budget = await admin(`${project}/budget`);
  while (budget[amount] === 0) budget = await admin(`${project}/budget`);
  await setMax(budget[amount] + LEAST_USD);
  return key.key;
};
