import { ApiFailure } from './failure.ts';

/** Sends a request. @throws ApiFailure without a status if no response arrives in time */
export const request = async (url: URL, init: RequestInit): Promise<Response> => {
  try {
    return await fetch(url, { cache: 'no-store', ...init });
  } catch {
    throw new ApiFailure(`No answer from ${url.origin}.`);
  }
};
