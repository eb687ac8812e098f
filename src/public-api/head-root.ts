// HEAD and GET of /, and of /api/hello: clients try the connection so before they send a key.

import type { Reply } from './call.ts';

const BODY = JSON.stringify({ name: 'turnpike', messages: '/v1/messages' });

export function headRoot(): Reply {
  return { status: 200, headers: {}, body: BODY };
}
