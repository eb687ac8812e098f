// The door of the web console's files: the page, its scripts and styles, as a browser is given them under
// /console/. It knows nothing of what they show: that is console/, a client of the admin API.

import { randomBytes } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { TurnpikeError } from '../errors.ts';
import { securityHeaders } from '../http/http.ts';
import { type BuiltFile, type BuiltFiles, openBuiltFiles } from './built-files.ts';
import { negotiateEncoding } from './negotiate-encoding.ts';

export const CONSOLE_PATH = '/console';

/** Stands in the page where the nonce of its styles belongs: frames of the interface make style elements of their own. */
const NONCE_PLACE = '__STYLE_NONCE__';

export interface Console {
  /**
   * Answers a GET or HEAD of a path under /console/. Every path that is no file is the page, which shows what belongs
   * there. Throws route_not_found for a file that there is not, method_not_allowed, and internal where the console
   * cannot be built.
   */
  fetch(request: Request, isOverTls: boolean): Promise<Response>;
}

/** `messagesAt`: the origin to which the page sends messages, where that may be another than its own; null: its own. */
export function makeConsole(messagesAt: () => string | null): Console {
  let opening: Promise<BuiltFiles> | null = null;
  const open = async () => {
    opening ??= openBuiltFiles();
    try {
      return await opening;
    } catch (cause) {
      opening = null; // what was in the way may be gone the next time
      throw new TurnpikeError('internal', 'The console cannot be built here: see the log.', { cause });
    }
  };
  return {
    async fetch(request, isOverTls) {
      if (!['GET', 'HEAD'].includes(request.method))
        throw new TurnpikeError('method_not_allowed', 'The console takes GET, HEAD.', {
          headers: { allow: 'GET, HEAD' },
        });
      const files = await open();
      const name = new URL(request.url).pathname.slice(CONSOLE_PATH.length + 1);
      const security = securityHeaders('other', isOverTls);
      const file = files.get(name);
      if (file !== undefined && name !== 'index.html') return sendFile(file, request, security);
      if (/\.[a-z0-9]{1,5}$/i.test(name) && name !== 'index.html')
        throw new TurnpikeError('route_not_found', 'The console has no such file.');
      return sendPage(files.page, security, messagesAt());
    },
  };
}

/** Names of files carry a hash of what is in them: they may be kept for ever. */
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
  return new Response(page.replace(NONCE_PLACE, nonce), {
    headers: {
      ...security,
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': contentSecurityPolicy(nonce, messagesAt),
      'cross-origin-opener-policy': 'same-origin',
      'permissions-policy': 'camera=(), microphone=(), geolocation=(), payment=()',
    },
  });
}

/** No script but our own files; no style element but those that know the nonce. */
function contentSecurityPolicy(nonce: string, messagesAt: string | null): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src 'self'${messagesAt === null ? '' : ` ${messagesAt}`}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
