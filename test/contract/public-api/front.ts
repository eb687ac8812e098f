// A public API on its own port, with a gateway whose response the test defines, and which records its calls. It has
// no tests of its own.

import { parseRange } from '../../../src/base/addresses.ts';
import type { ClientRequest, Reply } from '../../../src/gateway/client-request.ts';
import { BodiesInFlight, type HttpServer, serveHttp } from '../../../src/http/http.ts';
import { type Answered, handlePublic, type PublicDependencies } from '../../../src/public-api/public-api.ts';
import { Spool } from '../../../src/spool/spool.ts';
import { manualClock } from '../../support/manual-clock.ts';

export const OK: Reply = { status: 200, headers: {}, body: '{"ok":true}' };

export interface Front extends HttpServer {
  clientRequests: ClientRequest[];
  answered: Answered[];
  bodies: BodiesInFlight;
}

/** `answer` is how the gateway handles a message request; `what` is the name of the called function. */
export function openFront(
  answer: (clientRequest: ClientRequest, what: string) => Promise<Reply>,
  changes: Partial<PublicDependencies> = {},
): Front {
  const clientRequests: ClientRequest[] = [];
  const answered: Answered[] = [];
  const bodies = new BodiesInFlight(() => 256 * 1024 * 1024);
  const submit = (what: string) => (clientRequest: ClientRequest, id?: string) => {
    clientRequests.push(clientRequest);
    return answer(clientRequest, id === undefined ? what : `${what} ${id}`);
  };
  const settings = {
    vendorPrefixes: ['vendor', 'anthropic'],
    errorStatuses: 'turnpike' as const,
    fileBytesMax: 1_000_000,
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
    spool: new Spool('none'), // no request has files
    load: { loopDelayMs: () => 0, openMessages: () => 0 },
    clock: manualClock(1_760_000_000_000),
    settings: () => settings,
    trustedProxies: ['127.0.0.0/8'].map((text) => parseRange(text)).filter((range) => range !== null),
    reportsAddress: true,
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
  return { ...server, clientRequests, answered, bodies };
}
