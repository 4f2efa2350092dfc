import type { Agent } from './agent.ts';
import { versionOf } from './install-agents.ts';
import { scenesOf } from './scenes.ts';

/** An agent with the names of the scenes that failed. */
export type Row = { agent: Agent; failures: string[] };

const line = (cells: string[]): string => `| ${cells.join(' | ')} |`;

const markOf = (name: string, { agent, failures }: Row): string => {
  if (!scenesOf(agent).some((scene) => scene.name === name)) return '–';
  if (failures.includes(name)) return '✗';
  return name.includes('reasoning') && agent.reasoning ? agent.reasoning : '✓';
};

/** docs/agents.md. */
export const renderPage = (rows: Row[], date: Date): string => {
  const scenes = [...new Set(rows.flatMap(({ agent }) => scenesOf(agent).map(({ name }) => name)))];
  const packages = new Set(rows.map(({ agent }) => agent.package));
  return `${[
    '# Agents',
    '',
    `${packages.size} coding agents, driven by \`npm run test:agents\` on ${date.toISOString().slice(0, 10)}. The command writes this page. It`,
    'installs the agents from npm, configures each as `npm run connect` does, and gives it prompts that make the embedded model',
    'speak, think, call tools and fail. Every scene is played on two models: one on a chat upstream, one on a messages upstream.',
    'A tick means that both went as they must.',
    '',
    '- – the agent has no such tool; ✗ fails',
    '- **reasoning**: *dropped* by the agent itself, which is allowed; *unsigned*: sent back without the signature, so that a',
    '  chat upstream gets it and a messages upstream, which requires the signature, does not',
    '- **half an answer**: the stream breaks off; the agent reports an error, asks again, or has the half continued',
    '- **quota**: the agent shows the message of the 402 and does not ask again',
    '',
    line(['Agent', 'Version', 'Endpoint', ...scenes]),
    line(['---', '---', '---', ...scenes.map(() => ':-:')]),
    ...rows.map((row) => {
      const { name, package: npmPackage, endpoint } = row.agent;
      return line([
        name,
        `\`${npmPackage}\` ${versionOf(npmPackage)}`,
        endpoint,
        ...scenes.map((scene) => markOf(scene, row)),
      ]);
    }),
  ].join('\n')}\n`;
};
