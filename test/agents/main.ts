import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Agent } from './agent.ts';
import { installAgents } from './install-agents.ts';
import { type Row, renderPage } from './page.ts';
import { AGENTS, performAgent, print, withStage } from './play.ts';

const PAGE = fileURLToPath(new URL('../../docs/agents.md', import.meta.url));

/** Arguments name the agents to play, by a part of their names; then the page is left as it is. */
const wanted = process.argv.slice(2);
const isWanted = ({ name }: Agent): boolean =>
  wanted.length === 0 || wanted.some((part) => name.includes(part));

await installAgents();
await withStage(async (stage) => {
  const rows: Row[] = [];
  for (const agent of AGENTS.filter(isWanted)) {
    rows.push({ agent, failures: await performAgent(stage, agent) });
  }
  const failures = rows.flatMap((row) => row.failures).length;
  print(`\nagents: ${failures} failures`);
  if (wanted.length === 0) writeFileSync(PAGE, renderPage(rows, new Date()));
  process.exitCode = failures > 0 ? 1 : 0;
});
