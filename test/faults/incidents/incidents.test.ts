import { describe, expect, test } from 'vitest';
import { share } from '../../support/seeds.ts';
import { drawIncidents, nameOf, play } from './incident.ts';
import { brokenLaws } from './laws.ts';

const COUNT = Number(process.env.INCIDENTS ?? share(60, 15));
const LONGEST_S = Number(process.env.INCIDENT_SECONDS ?? 75);

describe('incidents end when they end, and stay with who caused them', () => {
  test.each(
    drawIncidents(COUNT, LONGEST_S).map((incident) => ({ incident, name: nameOf(incident) })),
  )('the laws of recovery and isolation hold for $name', async ({ incident }) => {
    expect(brokenLaws(incident, await play(incident))).toEqual([]);
  });
});
