import { settings } from '../settings.ts';

export const RunbookLink = ({ anchor }: { anchor: string }) => (
  <a href={`${settings.runbookUrl ?? ''}#${anchor}`} target="_blank" rel="noreferrer">
    Runbook: {anchor.replaceAll('-', ' ')}
  </a>
);
