// Who asks for a report, as the queue of reports wants to know it: each token has a share, and what
// nobody waits for any more is not read.

import type { Context } from 'hono';
import type { Asking } from '../base/asking.ts';
import type { AdminEnvironment } from './admin-app.ts';

export function askingOf(context: Context<AdminEnvironment>): Asking {
  return { asker: context.get('principal').id, signal: context.req.raw.signal };
}
