import type { HistoryStore, MetricSums } from '../stores/history-store.ts';
import type { Project } from '../stores/project-store.ts';
import { dayOf } from '../support/clock.ts';
import { daysAfter } from './fold-metrics.ts';
import { addMetrics } from './metric-sums.ts';

/** What a project has added to the metrics since its first record. */
export type ProjectMetrics = {
  projectId: string;
  sums: MetricSums;
  /** Units that the meters charged in closed periods and no record shows. */
  unrecorded: number;
  /** When the records were counted last (ms); undefined before the first time. */
  countedAt: number | undefined;
};

type Reads = Pick<HistoryStore, 'readMetrics' | 'findTotalMetrics' | 'readProgress'>;

/** Of all closed days together, and of each later one. */
const readProject = async (
  history: Reads,
  { id: projectId }: Project,
  now: number,
): Promise<ProjectMetrics> => {
  const progress = await history.readProgress(projectId);
  const total = await history.findTotalMetrics(projectId);
  const sums = { ...total?.sums };
  for await (const page of history.readMetrics({ projectId, ...daysAfter(total, dayOf(now)) })) {
    for (const { settled, open } of page) {
      addMetrics(sums, settled);
      addMetrics(sums, open);
    }
  }
  const unrecorded = Object.values(total?.unrecorded ?? {}).reduce((sum, units) => sum + units, 0);
  return { projectId, sums, unrecorded, countedAt: progress?.foldedAt };
};

/** Projects whose items are read at once. */
const AT_ONCE = 25;

/** In the order of the projects. */
export const readMetrics = async (history: Reads, projects: readonly Project[], now: number) => {
  const all: ProjectMetrics[] = [];
  for (let done = 0; done < projects.length; done += AT_ONCE) {
    const some = projects.slice(done, done + AT_ONCE);
    all.push(...(await Promise.all(some.map((project) => readProject(history, project, now)))));
  }
  return all;
};
