import { asNotSent } from '../store-unavailable.ts';

/**
 * Calls of a process that need the same first, like a read of an item: one goes ahead, and those that begin meanwhile wait for it
 * and go together. Those that wait for one that fails are not sent: an outage costs one timeout, not two.
 */
export const createInOrder = () => {
  const ahead = new Map<string, Promise<unknown>>();
  return {
    isAhead: (name: string): boolean => ahead.has(name),
    run: async <Result>(name: string, go: () => Promise<Result>): Promise<Result> => {
      const first = ahead.get(name);
      if (first) {
        await first.catch((error) => {
          throw asNotSent(error);
        });
        return go();
      }
      const going = go().finally(() => ahead.delete(name));
      ahead.set(name, going);
      return going;
    },
  };
};

export type InOrder = ReturnType<typeof createInOrder>;
