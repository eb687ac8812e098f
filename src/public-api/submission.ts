// Makes a submission of a request, and gives back what the request held however it ends. Whose
// key it shows and what its body says is the gateway's to find out.

import { readTraceContext } from '../base/trace-context.ts';
import { bounds } from '../config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';
import { startTimes } from '../gateway/gateway.ts';
import { queryOf, RequestBody, readBearer } from '../http/http.ts';
import type { Call, PublicDependencies, Reply, Submission } from './call.ts';
import { readVendorHeaders } from './vendor-headers.ts';

/**
 * Has the call's submission answered by `submit`. Throws draining and overloaded before anything is read.
 * The body counts as held until the reply is there, and for a stream until its request is not needed any more.
 */
export async function submitCall(call: Call, submit: (submission: Submission) => Promise<Reply>): Promise<Reply> {
  const { connection, dependencies, request } = call;
  const body = new RequestBody(request, connection, dependencies.bodies);
  let isIdleChanged = false;
  const setIdle = (seconds: number) => {
    isIdleChanged = seconds !== bounds.keepAliveIdleSecondsMax;
    connection.setIdleSeconds(seconds);
  };
  let reply: Reply | null = null;
  try {
    refuseWhileDraining(dependencies); // whoever was let in before that goes on, also while its body is still coming
    requireRoom(call, body);
    call.submission = describeCall(call, body, setIdle);
    reply = await submit(call.submission);
    return reply;
  } finally {
    const kept = reply?.requestKept;
    if (kept === undefined) body.giveBack();
    else
      void kept.then(
        () => body.giveBack(),
        () => body.giveBack(),
      );
    // The socket outlives this request: nobody else would set its limit back.
    if (isIdleChanged && typeof reply?.body !== 'object') setIdle(bounds.keepAliveIdleSecondsMax);
  }
}

/** Load is shed before anything of the body is read, and before anything is done to find out whose it is. */
function requireRoom({ dependencies, request }: Call, body: RequestBody): void {
  const { bodies, load } = dependencies;
  const { bodyBytesMax, shedLoopDelayMs, shedOpenMessages } = dependencies.settings();
  if (load.loopDelayMs() > shedLoopDelayMs)
    throw overloaded('The service has more to do than it can keep up with. Try again in a moment.');
  if (request.method !== 'POST') return; // what is only looked up holds nothing
  if (load.openMessages() >= shedOpenMessages)
    throw overloaded('Too many messages are in progress. Try again in a moment.');
  const bytes = body.bytesDeclared ?? 0;
  if (bytes <= bodyBytesMax) bodies.requireRoom(bytes); // a longer one is never read: it is too large, whatever else is
}

function refuseWhileDraining(dependencies: PublicDependencies): void {
  if (!dependencies.isDraining()) return;
  throw new TurnpikeError('draining', 'This server is shutting down. Send the request again.', {
    headers: { connection: 'close' },
  });
}

function describeCall(call: Call, body: RequestBody, setIdle: (seconds: number) => void): Submission {
  const { dependencies, request } = call;
  const { headers } = request;
  const vendor = readVendorHeaders(headers, dependencies.settings().vendorPrefixes);
  call.vendorPrefix = vendor.prefix;
  const traceparent = headers.get('traceparent');
  const times = startTimes();
  return {
    requestId: call.requestId,
    receivedAtMs: call.receivedAtMs,
    secret: readBearer(headers),
    protocol: 'messages',
    origin: headers.get('origin'),
    browserDeclared: vendor.browserDeclared,
    address: call.address,
    vendorPrefix: vendor.prefix,
    query: queryOf(request.url),
    version: vendor.version,
    betas: vendor.betas,
    idempotencyKey: headers.get('idempotency-key'),
    async readBody(bytesMax, accountId) {
      const askedMs = performance.now();
      const bytes = await body.read(bytesMax, accountId);
      times.bodyMs = performance.now() - askedMs;
      return bytes;
    },
    signal: request.signal,
    trace: traceparent === null ? null : readTraceContext(traceparent, headers.get('tracestate')),
    times,
    caller: null,
    isAdmitted: false,
    replayOf: null,
    expect(kind) {
      if (kind === 'stream') setIdle(bounds.streamIdleSecondsMax);
      else setIdle(kind === 'slow-json' ? 0 : bounds.keepAliveIdleSecondsMax);
    },
  };
}
