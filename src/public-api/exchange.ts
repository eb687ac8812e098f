// One HTTP request to the public API and its connection: what it holds until it is answered.

import { assert } from '../base/assert.ts';
import { newRequestId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';
import type { Front } from '../fronts/fronts.ts';
import { type BatchItem, type BodyParser, type MessageTimes, startTimes } from '../gateway/gateway.ts';
import {
  type Connection,
  clientAddress,
  type Form,
  type FormLimits,
  queryOf,
  RequestBody,
  readForm,
} from '../http/http.ts';
import { parseInTurns } from '../wire/wire.ts';
import type { Answered, PublicDependencies } from './dependencies.ts';
import type { EncodedReply } from './encode-reply.ts';
import { PublicRequest, VENDOR_PREFIX } from './public-request.ts';

export class Exchange {
  readonly request: Request;
  readonly connection: Connection;
  readonly dependencies: PublicDependencies;
  readonly receivedAtMs: number;
  readonly requestId: string;
  /** As received, without the query. */
  readonly path: string;
  readonly origin: string | null;
  /** null: a client sends it. */
  readonly item: BatchItem | null;
  readonly times: MessageTimes = startTimes();
  /** null: the Messages protocol. */
  front: Front | null = null;
  #clientRequest: PublicRequest | null = null;
  #address: string | null = null;
  #body: RequestBody | null = null;
  #formLimits: FormLimits | null = null;
  #form: Form | null = null;
  #formInUse: Promise<unknown> | null = null;
  #isIdleChanged = false;

  constructor(
    request: Request,
    path: string,
    connection: Connection,
    dependencies: PublicDependencies,
    item: BatchItem | null = null,
  ) {
    this.request = request;
    this.path = path;
    this.connection = connection;
    this.dependencies = dependencies;
    this.item = item;
    this.receivedAtMs = dependencies.clock.nowMs();
    this.requestId = newRequestId(this.receivedAtMs);
    this.origin = request.headers.get('origin');
    if (dependencies.reportsAddress) this.#findAddress();
  }

  get address(): string {
    return this.#address ?? this.#findAddress();
  }

  get headers(): Headers {
    return this.request.headers;
  }

  get query(): string {
    return queryOf(this.request.url);
  }

  /** The parameters of the query. Those without a value say nothing: some clients write them out. */
  parameters(): URLSearchParams {
    return new URLSearchParams([...new URLSearchParams(this.query)].filter(([, value]) => value !== ''));
  }

  get vendorPrefix(): string {
    return this.#clientRequest?.vendorPrefix ?? VENDOR_PREFIX;
  }

  /** The gateway reports an admitted message. */
  get isAdmitted(): boolean {
    return this.#clientRequest?.isAdmitted === true;
  }

  /**
   * The request for the gateway, which reads its body by `parseBody`; with limits the body is a form, which `form` has from then on, until
   * the exchange is closed. Throws invalid_request, and draining and overloaded before anything is read.
   */
  open(parseBody: BodyParser = parseInTurns, formLimits: FormLimits | null = null): PublicRequest {
    this.#formLimits = formLimits;
    const { connection, dependencies, front, request } = this;
    this.#body = new RequestBody(request, connection, dependencies.bodies);
    refuseWhileDraining(dependencies); // earlier requests continue, even if their bodies are still arriving
    requireRoom(dependencies, request.method, this.#body);
    const clientRequest = new PublicRequest(this, parseBody);
    this.#clientRequest = clientRequest; // first, because a fault of the head is answered by what was read of it
    clientRequest.readHead(front?.keyHeader ?? null, dependencies.settings().vendorPrefixes);
    return clientRequest;
  }

  readBody(bytesMax: number, accountId: number): ReturnType<RequestBody['read']> {
    if (this.#formLimits !== null) return this.#readForm(this.#formLimits, accountId);
    return (this.#body as RequestBody).read(bytesMax, accountId, this.times);
  }

  /** Resolves to nothing, because the form has its fields and files. */
  async #readForm(limits: FormLimits, accountId: number): Promise<Uint8Array> {
    this.#form = await this.readForm(limits, accountId);
    return new Uint8Array(0);
  }

  get form(): Form {
    assert(this.#form !== null, 'a form is used when it was read');
    return this.#form;
  }

  /** Its files stay until this has settled, too. */
  keepFormUntil(settled: Promise<unknown>): void {
    this.#formInUse = settled;
  }

  /** As `readForm` of http. Called once, instead of `readBody`. */
  readForm(limits: FormLimits, owner: number): Promise<Form> {
    const { dependencies, times } = this;
    const bytesMax = limits.filesMax * limits.fileBytesMax + bounds.formBytesMore;
    return readForm(
      this.headers.get('content-type'),
      (accept) => (this.#body as RequestBody).pass(bytesMax, times, accept),
      { spool: dependencies.spool, owner, limits },
    );
  }

  /** Passes the body on in pieces, as `RequestBody.pass`. Called once, instead of `readBody`. */
  passBody(bytesMax: number, accept: (piece: Uint8Array) => Promise<void>): Promise<void> {
    return (this.#body as RequestBody).pass(bytesMax, this.times, accept);
  }

  growBody(bytes: number, accountId: number): void {
    this.#body?.grow(bytes, accountId);
  }

  expect(kind: 'stream' | 'slow-json' | 'end'): void {
    if (kind === 'stream') this.#setIdle(bounds.streamIdleSecondsMax);
    else this.#setIdle(kind === 'slow-json' ? 0 : bounds.keepAliveIdleSecondsMax);
  }

  /** Releases what the request holds, or no longer holds after the first events of a stream; null: it was refused. */
  close(reply: Pick<EncodedReply, 'body' | 'requestInUse'> | null): void {
    const body = this.#body;
    if (body === null) return;
    if (this.#form !== null) void removeAfter(this.#formInUse, this.#form); // never rejects
    const inUse = reply?.requestInUse;
    if (inUse === undefined) body.giveBack();
    else giveBackAfter(inUse, body);
    // The socket may be reused: its idle timeout must be restored.
    if (this.#isIdleChanged && typeof reply?.body !== 'object') this.#setIdle(bounds.keepAliveIdleSecondsMax);
  }

  /** The record of the answer. */
  answered(status: number, failure: TurnpikeError | null): Answered {
    const { requestId, receivedAtMs, request, path, times, dependencies } = this;
    const findAddress = () => this.address;
    return {
      requestId,
      receivedAtMs,
      durationMs: dependencies.clock.nowMs() - receivedAtMs,
      method: request.method,
      path,
      get address() {
        return findAddress();
      },
      status,
      clientRequest: this.#clientRequest ?? { trace: null, times, caller: null, replayOf: null },
      failure,
    };
  }

  #setIdle(seconds: number): void {
    this.#isIdleChanged = seconds !== bounds.keepAliveIdleSecondsMax;
    this.connection.setIdleSeconds(seconds);
  }

  #findAddress(): string {
    const { connection, dependencies, request } = this;
    const address = clientAddress(connection.address, request.headers, dependencies.trustedProxies);
    this.#address = address;
    return address;
  }
}

/** Never rejects: a start removes what is left. */
async function removeAfter(inUse: Promise<unknown> | null, form: Form): Promise<void> {
  await inUse?.catch(() => undefined);
  await form[Symbol.asyncDispose]().catch(() => undefined);
}

function giveBackAfter(inUse: Promise<unknown>, body: RequestBody): void {
  const giveBack = () => body.giveBack();
  inUse.then(giveBack, giveBack);
}

function refuseWhileDraining(dependencies: PublicDependencies): void {
  if (!dependencies.isDraining()) return;
  throw new TurnpikeError('draining', 'This server is shutting down. Send the request again.', {
    headers: { connection: 'close' },
  });
}

/** Sheds load before the body is read and before authentication. */
function requireRoom({ bodies, load, settings }: PublicDependencies, method: string, body: RequestBody): void {
  const { bodyBytesMax, shedLoopDelayMs, shedOpenMessages } = settings();
  if (load.loopDelayMs() > shedLoopDelayMs) throw overloaded('The service is overloaded. Try again in a moment.');
  if (method !== 'POST') return; // lookups hold no memory
  if (load.openMessages() >= shedOpenMessages)
    throw overloaded('Too many messages are in progress. Try again in a moment.');
  const bytes = body.bytesDeclared ?? 0;
  if (bytes <= bodyBytesMax) bodies.requireRoom(bytes); // a longer body is never read: it is refused as too large
}
