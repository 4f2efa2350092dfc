import { settings } from '../settings.ts';

/** A link to a runbook in docs/operations.md. */
export const RunbookLink = ({ anchor }: { anchor: string }) => (
  <a href={`${settings.runbookUrl ?? ''}#${anchor}`} target="_blank" rel="noreferrer">
    Runbook: {anchor.replaceAll('-', ' ')}
  </a>
);
