import config from '../../vitest.config.ts';

/** What `npm test` leaves to `npm run test:rehearsal`, in the same workers. */
export default {
  ...config,
  test: { ...config.test, include: ['test/rehearsal/**/*.test.ts'], exclude: [] },
};
