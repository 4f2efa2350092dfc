/** One line of the doctor's table. */
export type Check = {
  check: string;
  result: 'ok' | 'warning' | 'failed';
  model?: string | undefined;
  upstream?: string | undefined;
  ms?: number | undefined;
  place?: string | undefined;
  reason?: string | undefined;
};
