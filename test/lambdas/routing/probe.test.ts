import { describe, expect, test } from 'vitest';
import { PATIENT, startLab, statusesOf } from '../../support/fleet-lab.ts';
import { type Act, answer, begin, breakOff, status } from '../../support/fleet-upstream.ts';

describe('two routers on the same tables', () => {
  test('share what one of them found out', async () => {
    const { primary, ask, clock } = await startLab([status(401)], { size: 2 });
    await ask(0);
    clock.advance(2_000);
    expect((await ask(1)).status).toBe(503);
    expect(primary.attempts).toBe(1);
  });

  test('send one probe between them, and both go on when it is answered', async () => {
    const { primary, ask, clock, fleet } = await startLab([status(401)], { size: 2 });
    await ask(0);
    clock.advance(360_000);
    const held: Parameters<Act>[0][] = [];
    primary.act = (response) => void held.push(response);
    const asked = Array.from({ length: 20 }, (_, turn) => ask(turn % 2));
    await expect
      .poll(() => fleet.lines().filter(({ status: code }) => code === 503).length, PATIENT)
      .toBe(19);
    expect(primary.attempts).toBe(2);

    primary.act = answer;
    held.forEach(answer);
    expect((await Promise.all(asked)).filter(({ status: code }) => code === 200)).toHaveLength(1);
    clock.advance(2_000);
    expect(statusesOf(await Promise.all([ask(0), ask(1), ask(0), ask(1)]))).toEqual([200]);
  });
});

test('a probe that fails opens the breaker for longer each time', async () => {
  const { clock, primary, askTimes, fleet } = await startLab([status(500)]);
  await askTimes(5);
  for (let turn = 0; turn < 6; turn += 1) {
    clock.advance(145_000);
    await askTimes(2);
  }
  expect(primary.attempts).toBe(5 + 6);
  const openings = fleet.lines().filter(({ event }) => event === 'breaker_opened');
  expect(openings.map(({ openings: number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test('a probe that is refused for what it asks shows that the target is back', async () => {
  const { clock, primary, askTimes, count } = await startLab([status(500)]);
  await askTimes(5);
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
    await lab.askTimes(5);
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

  test('one failure after the first content of a probe opens the breaker again', async () => {
    const { primary, askTimes, count, probe } = await setUpProbe();
    primary.act = status(500);
    await askTimes(3);
    expect(primary.attempts).toBe(5 + 1 + 1);
    expect(count('breaker_opened')).toBe(2);
    probe.leave();
  });

  test('one of the probe itself as well', async () => {
    const { clock, primary, askTimes, count, probe } = await setUpProbe();
    probe.leave();
    primary.act = status(500);
    await askTimes(1);
    clock.advance(24_000);
    primary.act = breakOff;
    await askTimes(2);
    expect(count('breaker_opened')).toBe(3);
  });

  test('one answer that is heard to its end brings back the patience', async () => {
    const { primary, askTimes, count, probe } = await setUpProbe();
    probe.leave();
    primary.act = answer;
    await askTimes(1);
    primary.act = status(500);
    await askTimes(4);
    expect(count('breaker_opened')).toBe(1);
  });
});
