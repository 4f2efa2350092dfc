import { IN_CONSOLE, textOf } from '../../lambdas/clients.ts';
import type { CallerModel } from '../api/caller.ts';
import { callerUrl } from '../settings.ts';
import { Copyable } from './copy.tsx';
import { Tabs } from './tabs.tsx';

type SnippetsProps = { label: string; model: CallerModel; prompt?: string };

/** Code that asks a model, for each client; it reads the key from an environment variable. */
export const Snippets = ({ label, model, ...prompt }: SnippetsProps) => {
  const { id, context_length: context, max_output_tokens: output } = model;
  const connection = { url: callerUrl, model: id, context, output, ...prompt };
  const tabs = Object.entries(IN_CONSOLE).map(([title, client]) => {
    const code = textOf(client(connection));
    return {
      title,
      content: <Copyable key={title} text={code} label={`the code for ${title}`} isBlock />,
    };
  });
  return <Tabs label={label} tabs={tabs} />;
};
