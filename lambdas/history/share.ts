/** Part of a project's reconciliation, for a caller whose time is limited. */
export type Share = {
  /** Key whose meter was the last that an earlier part has closed. @default '' none */
  after: string;
  /** Whether no other step may begin. The first one of a part does. */
  isOver(): boolean;
  /** Whether the step in progress has to stop. */
  isLate(): boolean;
};

export const WHOLE: Share = { after: '', isOver: () => false, isLate: () => false };

/** A day has more entries than there is time for; no row of it was changed. */
export class DayTooLong extends Error {
  override name = 'DayTooLong';
  readonly day: string;
  constructor(day: string) {
    super('A day of a project has more records than one request can read.');
    this.day = day;
  }
}
