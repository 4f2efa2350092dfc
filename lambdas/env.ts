import * as z from 'zod';

/** CONTRACT with lib/: the environment variables of the router function. */
export const RouterEnv = z.object({
  KEYS_TABLE: z.string().min(3),
  PLANS_TABLE: z.string().min(3),
  METERS_TABLE: z.string().min(3),
  /** Name or ARN of the secret whose JSON object holds one credential per field. */
  UPSTREAM_SECRET: z.string().min(1),
});
export type RouterEnv = z.infer<typeof RouterEnv>;

/** @throws Error that names every variable which is missing or wrong. */
export const readRouterEnv = (env: Record<string, string | undefined>): RouterEnv => {
  const parsed = RouterEnv.safeParse(env);
  if (parsed.success) return parsed.data;
  throw new Error(`The environment is not valid.\n${z.prettifyError(parsed.error)}`);
};
