// The door of the web console's files: the page, its scripts and styles, as a browser is given them under /console/.
// The console itself is console/, a client of the admin API.

import { randomBytes } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { TurnpikeError } from '../errors.ts';
import { negotiateEncoding, securityHeaders } from '../http/http.ts';
import { type BuiltFile, type BuiltFiles, openBuiltFiles } from './built-files.ts';

export const CONSOLE_PATH = '/console';

/** Replaced in the page by a nonce for style elements, which the interface's frames create. */
const NONCE_PLACE = '__STYLE_NONCE__';

export interface Console {
  /**
   * Answers a GET or HEAD of a path under /console/. A path that names no file gets the page, which routes it. Throws
   * route_not_found for a missing file, method_not_allowed, and internal if the console cannot be built.
   */
  fetch(request: Request, isOverTls: boolean): Promise<Response>;
}

/** `messagesAt`: the origin to which the page sends messages; null: its own. */
export function makeConsole(messagesAt: () => string | null): Console {
  let opening: Promise<BuiltFiles> | null = null;
  const open = async () => {
    opening ??= openBuiltFiles();
    try {
      return await opening;
    } catch (cause) {
      opening = null; // the next request tries again
      throw new TurnpikeError('internal', 'The console could not be built. See the log of the service.', { cause });
    }
  };
  return {
    async fetch(request, isOverTls) {
      if (!['GET', 'HEAD'].includes(request.method))
        throw new TurnpikeError('method_not_allowed', 'The console accepts only GET and HEAD.', {
          headers: { allow: 'GET, HEAD' },
        });
      const files = await open();
      const name = new URL(request.url).pathname.slice(CONSOLE_PATH.length + 1);
      const security = securityHeaders('other', isOverTls);
      const file = files.get(name);
      if (file !== undefined && name !== 'index.html') return sendFile(file, request, security);
      if (/\.[a-z0-9]{1,5}$/i.test(name) && name !== 'index.html')
        throw new TurnpikeError('route_not_found', 'The console has no file at this path.');
      return sendPage(files.page, security, messagesAt());
    },
  };
}

/** File names contain a hash of the content, so browsers may cache them forever. */
function sendFile(file: BuiltFile, request: Request, security: Readonly<Record<string, string>>): Response {
  const encoding = negotiateEncoding(request.headers.get('accept-encoding'), Object.keys(file.encoded));
  const path = encoding === null ? file.path : file.encoded[encoding];
  if (path === undefined || !isAbsolute(path)) throw new Error(`no such built file: ${path}`);
  return new Response(Bun.file(path), {
    headers: {
      ...security,
      'content-type': file.type,
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
      ...(encoding !== null && { 'content-encoding': encoding }),
    },
  });
}

function sendPage(page: string, security: Readonly<Record<string, string>>, messagesAt: string | null): Response {
  const nonce = randomBytes(16).toString('base64');
  return new Response(page.replaceAll(NONCE_PLACE, nonce), {
    headers: {
      ...security,
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': contentSecurityPolicy(nonce, messagesAt),
      'cross-origin-opener-policy': 'same-origin',
      'permissions-policy': 'camera=(), microphone=(self), geolocation=(), payment=()',
    },
  });
}

/** Allows only our own script files, and style elements with the nonce. */
function contentSecurityPolicy(nonce: string, messagesAt: string | null): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    'media-src data:',
    "font-src 'self'",
    `connect-src 'self'${messagesAt === null ? '' : ` ${messagesAt}`}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
