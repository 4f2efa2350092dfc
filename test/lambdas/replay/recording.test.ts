import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createRecording, type Recording } from '../../../lambdas/replay/recording.ts';
import { createRandom, type Random } from '../../simulation/random.ts';
import { SEED } from '../../support/seeds.ts';

/** What a reader gets, piece by piece; each is asked for when the test does. */
const startReader = (recording: Recording) => {
  const texts = recording.read();
  let text = '';
  const readOne = async () => {
    const { value, done } = await texts.next();
    text += value ?? '';
    return done === true;
  };
  const readAll = async () => {
    while (!(await readOne()));
    return text;
  };
  return { readOne, readAll };
};

/** Texts of which some are longer than what is held uncompressed; each has its own letter. */
const drawTexts = (random: Random): string[] =>
  Array.from({ length: 30 }, (_, n) =>
    String.fromCharCode(65 + n).repeat(random.chance(0.1) ? 300_000 : random.between(1, 40_000)),
  );

test.each([0, 1, 2, 3])(
  'readers of a recording that start at any time and read at any pace get each character once, in order (%i)',
  async (round) => {
    const random = createRandom(SEED + round);
    const recording = createRecording();
    const readers = [startReader(recording)];
    const texts = drawTexts(random);
    for (const text of texts) {
      recording.append(text);
      for (const reader of readers) if (random.chance(0.5)) await reader.readOne();
      if (random.chance(0.2)) readers.push(startReader(recording));
    }
    const rests = readers.map(({ readAll }) => readAll());
    recording.append('end');
    const whole = `${texts.join('')}end`;
    expect(gunzipSync(recording.compress(' of it')).toString() === `${whole} of it`).toBe(true);
    recording.end();
    rests.push(startReader(recording).readAll());
    expect((await Promise.all(rests)).every((read) => read === whole)).toBe(true);
  },
);
