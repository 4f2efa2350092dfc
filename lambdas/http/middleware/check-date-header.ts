import { invalidRequest } from '../../support/errors.ts';
import type { Middleware } from './middleware.ts';

const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** A protocol version is optional, and any date will do; anything else is a mistake. @throws ApiError 400. */
export const checkDateHeader = (): Middleware => {
  const checkDateHeaderBefore: Middleware['before'] = ({ event: exchange }) => {
    const name = exchange.match?.route.dateHeader;
    const value = name && exchange.request.headers[name];
    if (value !== undefined && !DATE.test(value)) {
      throw invalidRequest(`The header ${name} must be a date (YYYY-MM-DD) or absent.`);
    }
  };
  return { before: checkDateHeaderBefore };
};
