import type { TextReply } from '../endpoints/endpoint.ts';
import { methodNotAllowed } from '../http/read-address.ts';
import type { Received } from '../http/stages.ts';
import { notFound } from '../support/errors.ts';
import {
  CONSOLE_PATH,
  CONTRACT_PATH,
  type ConsoleParts,
  type ConsoleSettings,
  STREAMED_FILES,
} from './console.ts';
import { type AdminHandler, withMiddlewares } from './create-admin-handler.ts';

/** The page has no inline script or style, is never framed, and connects to its origin and the sign-in only. */
const contentPolicy = ({ signIn }: ConsoleSettings): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `connect-src 'self'${signIn ? ` https://${signIn.domain}` : ''}`,
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

const headersFor = (settings: ConsoleSettings) => ({
  'content-security-policy': contentPolicy(settings),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
});

/** The name of an asset contains a hash of its text. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

const ENTITIES: Record<string, string> = { '&': '&amp;', '"': '&quot;', '<': '&lt;', '>': '&gt;' };

const attribute = (value: unknown): string =>
  JSON.stringify(value).replaceAll(/[&"<>]/g, (character) => ENTITIES[character] ?? '');

/**
 * Returns the page or one of its files. The page's addresses are relative, so that a stage or a base path in
 * front of `/dashboard` changes none of them.
 */
const createServe = ({ readFiles, settings, folder = CONSOLE_PATH.slice(1) }: ConsoleParts) => {
  const security = headersFor(settings);

  const pageReply = (): TextReply => ({
    status: 200,
    headers: {
      ...security,
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
    },
    text: readFiles()
      .page.replaceAll('{{folder}}', folder)
      .replace('{{settings}}', () => attribute(settings)),
  });

  const assetReply = (name: string): TextReply => {
    const { assets } = readFiles();
    const asset = Object.hasOwn(assets, name) ? assets[name] : undefined;
    if (!asset) throw notFound('Unknown file of the console. Reload the page.');
    const caching = `/${name}` === CONTRACT_PATH ? 'no-cache' : IMMUTABLE;
    const headers = { ...security, 'content-type': asset.type, 'cache-control': caching };
    return { status: 200, headers, text: asset.text };
  };

  /** @throws ApiError 404 or 405 */
  return ({ request, notes }: Received): TextReply => {
    const { method, path } = request;
    if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed('GET, HEAD');
    const { length } = path.startsWith(STREAMED_FILES) ? STREAMED_FILES.slice(1) : CONSOLE_PATH;
    const name = path === CONTRACT_PATH ? path : path.slice(length);
    notes.route = name === '' ? CONSOLE_PATH : `${CONSOLE_PATH}/{file}`;
    // Relative addresses of the page start at the folder that contains `dashboard`.
    if (name === '/') return { status: 308, headers: { location: '../dashboard' }, text: '' };
    return name === '' ? pageReply() : assetReply(name.slice(1));
  };
};

type Options = { console: ConsoleParts } & Parameters<typeof withMiddlewares>[0];

/** Serves the console's page and files, which need no operator. */
export const createConsoleHandler = ({ console, ...options }: Options): AdminHandler => {
  const serve = createServe(console);
  return withMiddlewares(options, async (received) => serve(received));
};
