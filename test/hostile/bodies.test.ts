import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Fleet } from '../support/fleet.ts';
import { share } from '../support/seeds.ts';
import { type Sent, send } from '../support/send.ts';
import { bodyOf, type On, PATHS, POSTS } from './draft.ts';
import { NAUGHTY, NO_JSON, ODD_JSON } from './generators.ts';
import { startInstantFleet } from './instant-fleet.ts';

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startInstantFleet();
});
afterAll(() => fleet.close());

const post = (on: On, body: string): Promise<Sent> =>
  send(fleet.urls[0] ?? '', PATHS[on], {
    method: 'POST',
    headers: { 'x-api-key': fleet.key },
    body,
  });

const statuses = async (on: On, bodies: string[]): Promise<Record<number, string[]>> => {
  const found: Record<number, string[]> = {};
  for (const body of bodies) {
    const { status, headers } = await post(on, body);
    expect(headers['x-request-id']).toMatch(/^req_/);
    found[status] = [...(found[status] ?? []), body];
  }
  return found;
};

const asJson = (on: On, change: object) => JSON.stringify({ ...bodyOf(on), ...change });

describe.each(POSTS)('%s', (on) => {
  test('no text that is not JSON is taken for it', async () => {
    expect(Object.keys(await statuses(on, NO_JSON))).toEqual(['400']);
  });

  test('odd values of fields that nobody knows are no reason to refuse', async () => {
    const good = JSON.stringify(bodyOf(on));
    const bodies = ODD_JSON.map((value) => good.replace('{', `{"x-unknown":${value},`));
    expect(Object.keys(await statuses(on, bodies))).toEqual(['200']);
  });

  test('naughty strings are no models', async () => {
    const bodies = NAUGHTY.map((model) => asJson(on, { model }));
    expect(Object.keys(await statuses(on, bodies))).toEqual(['400']);
  });

  test('naughty strings are good prompts', async () => {
    const bodies = NAUGHTY.map((content) =>
      asJson(on, { messages: [{ role: 'user', content: `${content}.` }], stream: true }),
    );
    expect(Object.keys(await statuses(on, bodies))).toEqual(['200']);
  });

  test('naughty strings and numbers anywhere else are a 400 at worst', async () => {
    const places = ['system', 'tools', 'stop', 'metadata', 'user', 'temperature', 'thinking'];
    const bodies = NAUGHTY.slice(0, share(60)).flatMap((text) =>
      places.map((place, at) => asJson(on, { [place]: at % 2 === 0 ? text : [text] })),
    );
    const found = await statuses(on, bodies);
    expect(Object.keys(found).filter((status) => status !== '200' && status !== '400')).toEqual([]);
  });
});
