import { createCachedLookup } from '../../lambdas/keys/cached-lookup.ts';
import { createRandom } from './random.ts';
import { createScheduler } from './scheduler.ts';

const END_MS = 20_000;
/** From table to table of a global table: "usually within a second". */
const REPLICATED_MS = 900;
const READ_MS = 40;
/** From when a region can know of a revocation until none of its environments admits the key. */
const WITHIN_MS = 2_000;

/**
 * One schedule of a key of two or three regions, which is revoked in one. Each region has its table, to which the others' writes are
 * replicated while the links are up, and two environments with the router's cache of keys; some end, and others begin. The result is
 * when it was admitted too late, in words, and how often while the links were cut.
 */
export const simulateRevocation = async (
  seed: number,
  { freshMs, hasCut }: { freshMs: number; hasCut: boolean },
) => {
  const random = createRandom(seed);
  const clock = createScheduler(0);
  const regions = Array.from({ length: random.between(2, 3) }, () => ({ isRevoked: false }));
  const revokedAt = random.between(1_000, 12_000);
  const home = random.between(0, regions.length - 1);
  const from = hasCut ? random.between(2_000, 8_000) : END_MS;
  const to = hasCut ? from + random.between(1_000, 8_000) : END_MS;
  const isCut = () => clock.now() >= from && clock.now() < to;
  const broken: string[] = [];
  let admittedInCut = 0;

  const replicate = (region: { isRevoked: boolean }): unknown =>
    clock.after(random.between(20, REPLICATED_MS), () => {
      if (isCut()) clock.after(to - clock.now(), () => replicate(region));
      else region.isRevoked = true;
    });
  clock.after(revokedAt, () => {
    for (const [index, region] of regions.entries()) {
      if (index === home) region.isRevoked = true;
      else replicate(region);
    }
  });

  for (const [index, region] of regions.entries()) {
    const isHeardOf = index === home || revokedAt + REPLICATED_MS < from || revokedAt >= to;
    const dueAt = (isHeardOf ? revokedAt : to) + WITHIN_MS;
    const find = async () => {
      await clock.sleep(random.between(1, READ_MS));
      return { ...region };
    };
    const start = () => createCachedLookup({ clock, freshMs, find });
    const environments = [start(), start()];
    const ask = async () => {
      clock.after(random.between(20, 300), () => void ask());
      const chosen = random.between(0, 1);
      if (random.chance(0.02)) environments[chosen] = start();
      const found = await environments[chosen]?.find('key');
      const lateMs = clock.now() - dueAt;
      if (found?.isRevoked !== false) return;
      admittedInCut += Number(isCut() && clock.now() > revokedAt + WITHIN_MS);
      if (lateMs > 0) broken.push(`region ${index} admits a revoked key ${lateMs} ms too late`);
    };
    void ask();
  }
  await clock.run(END_MS);
  return { broken: broken.slice(0, 3), admittedInCut };
};
