import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { checkPresets } from '../../../lambdas/admin/doctor.ts';
import { Target } from '../../../lambdas/catalog/parse-models.ts';
import { presetOf } from '../../../lambdas/catalog/preset-age.ts';
import { PRESETS } from '../../../lambdas/catalog/profiles.ts';
import { DAY_MS } from '../../../lambdas/support/clock.ts';
import { createManualClock } from '../../support/manual-clock.ts';
import { modelOn, targetAt } from '../../support/models.ts';

const page = readFileSync(new URL('../../../docs/providers.md', import.meta.url), 'utf8');
const rows = [...page.matchAll(/^\| `([\w.-]+)` \| .* \| (\d{4}-\d\d-\d\d) \| (.+) \|$/gm)].map(
  ([, name = '', checked = '', cell = '']) => ({
    name,
    checked,
    source: /\]\((https:[^)]+)\)/.exec(cell)?.[1],
  }),
);

const warningsOf = (preset: string, now: number) => {
  const target = Target.parse({ ...targetAt('http://127.0.0.1:1'), profile: preset });
  return checkPresets({ models: [modelOn([target])], clock: createManualClock(now), presetOf });
};

describe('presets and the day on which they were checked', () => {
  test('docs/providers.md has a date and the address of a source for each preset', () => {
    expect(rows.map(({ name }) => name).toSorted()).toEqual(Object.keys(PRESETS).toSorted());
  });

  test.each(rows)(
    'doctor names the preset $name from the 91st day after $checked on',
    ({ name, checked, source }) => {
      const day = Date.parse(checked);
      expect(warningsOf(name, day + 90 * DAY_MS)).toEqual([]);
      expect(warningsOf(name, day + 91 * DAY_MS)).toMatchObject([
        {
          result: 'warning',
          reason: `The preset ${name} was last checked on ${checked}; compare it with ${source}, or update the router.`,
        },
      ]);
    },
  );

  test('a profile that is no preset is not named', () => {
    const target = Target.parse({ ...targetAt('http://127.0.0.1:1'), profile: { prefill: true } });
    const clock = createManualClock(Date.UTC(2030, 0));
    expect(checkPresets({ models: [modelOn([target])], clock, presetOf })).toEqual([]);
  });
});
