import type { ConsoleSettings } from '../lambdas/admin/console.ts';

/** Replaced by the bundler with the version of the project. */
declare const VERSION: string;
export const version = VERSION;

const text = document.querySelector<HTMLMetaElement>('meta[name="console-settings"]')?.content;

export const settings: ConsoleSettings = JSON.parse(text ?? '{"stage":""}');

/** The folder of the page's address: `/`, or `/prod/` with a stage's name in front. */
export const pageBase = new URL('.', document.baseURI);

/** Base address for callers, without a slash at its end. */
export const callerUrl = (settings.callerUrl ?? pageBase.href).replace(/\/$/, '');
