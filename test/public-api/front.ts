// A public API on a port of its own, with a gateway that answers as a test says and keeps what it
// was given. No tests of its own.

import { parseRange } from '../../src/base/address-range.ts';
import { manualClock } from '../../src/base/clock.ts';
import type { Reply, Submission } from '../../src/gateway/submission.ts';
import { BodiesInFlight, type HttpServer, serveHttp } from '../../src/http/http.ts';
import { type Answered, handlePublic, type PublicDependencies } from '../../src/public-api/public-api.ts';

export const OK: Reply = { status: 200, headers: {}, body: '{"ok":true}' };

export interface Front extends HttpServer {
  submissions: Submission[];
  answered: Answered[];
  bodies: BodiesInFlight;
}

/** `answer` is what the gateway does with a submission; `what` says which of its functions was called. */
export function openFront(
  answer: (submission: Submission, what: string) => Promise<Reply>,
  changes: Partial<PublicDependencies> = {},
): Front {
  const submissions: Submission[] = [];
  const answered: Answered[] = [];
  const bodies = new BodiesInFlight(() => 256 * 1024 * 1024);
  const submit = (what: string) => (submission: Submission, id?: string) => {
    submissions.push(submission);
    return answer(submission, id === undefined ? what : `${what} ${id}`);
  };
  const settings = {
    vendorPrefixes: ['vendor', 'anthropic'],
    bodyBytesMax: 1_000_000,
    shedLoopDelayMs: 500,
    shedOpenMessages: 100,
  };
  const dependencies: PublicDependencies = {
    messages: {
      submitMessage: submit('submitMessage'),
      countTokens: submit('countTokens'),
      listModels: submit('listModels'),
      getModel: submit('getModel'),
      getKey: submit('getKey'),
      getUsage: submit('getUsage'),
    },
    bodies,
    load: { loopDelayMs: () => 0, openMessages: () => 0 },
    clock: manualClock(1_760_000_000_000),
    settings: () => settings,
    trustedProxies: ['127.0.0.0/8'].map((text) => parseRange(text)).filter((range) => range !== null),
    isLeaving: () => false,
    isDraining: () => false,
    isStoreAvailable: () => true,
    report: (line) => answered.push(line),
    ...changes,
  };
  const server = serveHttp({
    hostname: '127.0.0.1',
    port: 0,
    handle: (request, connection) => handlePublic(request, connection, dependencies),
  });
  return { ...server, submissions, answered, bodies };
}
