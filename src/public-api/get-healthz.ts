// GET /healthz: the process answers. It says nothing of the store: a restart would not mend that.

import type { Reply } from './call.ts';

const BODY = JSON.stringify({ status: 'ok' });

export function getHealthz(): Reply {
  return { status: 200, headers: {}, body: BODY };
}
