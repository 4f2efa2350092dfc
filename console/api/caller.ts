import { pageBase } from '../settings.ts';
import { request } from './client.ts';
import { failureOf } from './failure.ts';

/** Calls of the public API with a caller's key, which is in memory only. @throws ApiFailure */
export const callAs = async (
  key: string,
  path: string,
  init: RequestInit = {},
): Promise<Response> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await request(new URL(`v1/${path}`, pageBase), { ...init, headers });
  if (!response.ok) throw await failureOf(response);
  return response;
};

export type CallerModel = { id: string; input_price_per_m: number; output_price_per_m: number };

/** The models that a key may use. @throws ApiFailure */
export const modelsOf = async (key: string): Promise<CallerModel[]> => {
  const { data }: { data: CallerModel[] } = await (await callAs(key, 'models')).json();
  return data;
};
