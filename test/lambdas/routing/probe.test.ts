import { describe, expect, test } from 'vitest';
import { startLab, statusesOf } from '../../support/fleet-lab.ts';
import { type Act, answer, begin, breakOff, status } from '../../support/fleet-upstream.ts';

describe('two routers on the same tables', () => {
  test('share what one of them found out', async () => {
    const { primary, ask, askTimesInTurn, clock } = await startLab([status(500), answer], {
      size: 2,
    });
    await askTimesInTurn(5);
    clock.advance(2_000);
    expect((await ask(1)).status).toBe(200);
    expect(primary.attempts).toBe(5);
  });

  test('send one probe between them, and both go on when it is answered', async () => {
    const { primary, second, ask, askTimesInTurn, clock } = await startLab([status(500), answer], {
      size: 2,
    });
    await askTimesInTurn(5);
    clock.advance(12_000);
    const held: Parameters<Act>[0][] = [];
    primary.act = (response) => void held.push(response);
    const asked = Array.from({ length: 20 }, (_, turn) => ask(turn % 2));
    await expect.poll(() => second?.attempts).toBe(5 + 19);
    expect(primary.attempts).toBe(5 + 1);

    primary.act = answer;
    held.forEach(answer);
    expect(statusesOf(await Promise.all(asked))).toEqual([200]);
    clock.advance(2_000);
    await Promise.all([ask(0), ask(1), ask(0), ask(1)]);
    expect(primary.attempts).toBe(5 + 1 + 4);
  });
});

test('probes of two projects that fail open the breaker for longer each time', async () => {
  const { clock, primary, askTimesInTurn, fleet } = await startLab([status(500), answer]);
  const openings = () => fleet.lines().filter(({ event }) => event === 'breaker_opened');
  await askTimesInTurn(5);
  for (let second = 0; second < 900 && openings().length < 7; second += 4) {
    clock.advance(4_000);
    expect(statusesOf(await askTimesInTurn(1))).toEqual([200]);
  }
  // A probe of each project, and those of a key that is held off no longer than the target.
  expect(primary.attempts).toBeLessThanOrEqual(5 + 3 * 6);
  expect(openings().map(({ openings: number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test('the breaker of a model with one target never opens for more than 12 s', async () => {
  const { clock, askTimesInTurn, fleet } = await startLab([status(500)]);
  for (let second = 0; second < 90; second += 2) {
    const now = clock.now();
    await askTimesInTurn(3);
    const opened = fleet.lines().filter(({ event }) => event === 'breaker_opened');
    expect(Number(opened.at(-1)?.openUntil ?? 0) - now).toBeLessThanOrEqual(12_000);
    clock.advance(2_000);
  }
  const opened = fleet.lines().filter(({ event }) => event === 'breaker_opened');
  expect(opened.length).toBeGreaterThan(4);
});

test('a probe that is refused for what it asks shows that the target is back', async () => {
  const { clock, primary, askTimes, askTimesInTurn, count } = await startLab([status(500)]);
  await askTimesInTurn(5);
  clock.advance(12_000);
  primary.act = status(400);
  await askTimes(1);
  expect(count('breaker_closed')).toBe(1);
  primary.act = answer;
  expect(statusesOf(await askTimes(2))).toEqual([200]);
});

describe('between the first content of a probe and its end', () => {
  const setUpProbe = async () => {
    const lab = await startLab([status(500)]);
    await lab.askTimesInTurn(5);
    lab.clock.advance(12_000);
    lab.primary.act = begin;
    return { ...lab, probe: await lab.askAndHold() };
  };

  test('other requests call the target after the first content of a probe', async () => {
    const { primary, ask, probe } = await setUpProbe();
    expect(probe.status).toBe(200);
    primary.act = answer;
    expect((await ask()).status).toBe(200);
    probe.leave();
  });

  test('one failure of each of two projects after the first content of a probe opens the breaker again', async () => {
    const { clock, primary, askTimesInTurn, count, probe } = await setUpProbe();
    // A target that answered within ten seconds gets more than one request a second.
    clock.advance(10_000);
    primary.act = status(500);
    await askTimesInTurn(4);
    expect(primary.attempts).toBe(5 + 1 + 2);
    expect(count('breaker_opened')).toBe(2);
    probe.leave();
  });

  test('one of the probe itself as well', async () => {
    const { clock, primary, askTimesInTurn, count, probe } = await setUpProbe();
    probe.leave();
    primary.act = status(500);
    await askTimesInTurn(2);
    clock.advance(24_000);
    primary.act = breakOff;
    await askTimesInTurn(2);
    expect(count('breaker_opened')).toBe(3);
  });

  test('one answer that is heard to its end brings back the patience', async () => {
    const { primary, askTimesInTurn, count, probe } = await setUpProbe();
    probe.leave();
    primary.act = answer;
    await askTimesInTurn(1);
    primary.act = status(500);
    await askTimesInTurn(4);
    expect(count('breaker_opened')).toBe(1);
  });
});

test('after a probe that failed the next one is that of another key', async () => {
  const { primary, ask, askTimesInTurn, clock } = await startLab([status(500), answer]);
  await askTimesInTurn(5);
  clock.advance(12_000);
  await ask();
  expect(primary.attempts).toBe(5 + 1);
  clock.advance(1_500);
  await ask();
  expect(primary.attempts).toBe(5 + 1);
  await ask(0, 'other project');
  expect(primary.attempts).toBe(5 + 2);
});

test('a response that began before its target failed elsewhere closes the breaker with its first content', async () => {
  const { primary, ask, askTimesInTurn, clock, count } = await startLab([answer, answer], {
    size: 2,
  });
  const held: Parameters<Act>[0][] = [];
  primary.act = (response) => void held.push(response);
  const early = ask(1);
  await expect.poll(() => held.length).toBe(1);
  primary.act = status(500);
  await askTimesInTurn(5);
  clock.advance(2_000);
  await ask(1);
  expect(primary.attempts).toBe(1 + 5);

  held.forEach(answer);
  expect((await early).status).toBe(200);
  expect(count('breaker_closed')).toBe(1);
});
