// What the gateway asks of a provider. The Messages shape is the pivot: a provider takes a
// message request and answers with Messages events or one Messages object, whatever it speaks itself.

import type { TraceContext } from '../base/trace-context.ts';
import type { Secret } from '../secrets/secrets.ts';
import type { JsonObject, MessageRequest, StreamEvent } from '../wire/wire.ts';

/** Where a provider is and what opens it: the catalogue's provider as this module sees it. */
export interface ProviderEndpoint {
  name: string;
  kind: string;
  /** Without a slash at its end; empty for a provider inside the service. */
  baseUrl: string;
  credential: Secret | null;
}

/** One try of a submission over one route. */
export interface Attempt {
  provider: ProviderEndpoint;
  request: MessageRequest;
  /** The model's name at the provider. */
  upstreamModel: string;
  /** The caller's max_tokens, defaulted and clamped to the model's limit. Absent when only tokens are counted. */
  maxTokens: number;
  /** The caller's `<vendor>-version`; null when it sent none. */
  version: string | null;
  /** The caller's `<vendor>-beta` values, joined by commas; null when it sent none. */
  betas: string | null;
  requestId: string;
  /** What the provider is told of the trace that this is part of; absent or null: nothing. */
  trace?: TraceContext | null;
  /** Aborts the upstream. Aborted, `submit` and `next` reject with a fault of kind `aborted`. */
  signal: AbortSignal;
}

export type ProviderReply =
  | { form: 'stream'; events: EventSource; upstreamRequestId: string | null }
  | { form: 'message'; message: JsonObject; text: string; upstreamRequestId: string | null };

/** Events, pulled: the provider is not read faster than `next` is called. */
export interface EventSource {
  /**
   * The events that have come, at least one, in order, or null when the upstream ended its stream.
   * Keep-alives of the upstream (pings, comments) are not events: they never resolve this.
   * A provider's own `error` event is thrown as a ProviderFault.
   */
  next(): Promise<StreamEvent[] | null>;
}

export type FaultKind =
  | 'rejected' // the content was refused: the caller's to mend
  | 'credentials' // our own credit, key or access
  | 'rate_limited'
  | 'overloaded'
  | 'failed' // 5xx, broken or unreadable answer, no connection
  | 'timeout'
  | 'aborted'; // by us

/** A provider's failure, as the gateway needs to know it. Its message is safe to show for `rejected` only. */
export class ProviderFault extends Error {
  override name = 'ProviderFault';
  readonly kind: FaultKind;
  /** The provider's status, or null when there was none. */
  readonly status: number | null;
  readonly retryAfterMs: number | null;
  /** The provider's own error type, kept for `rejected`. */
  readonly errorType: string | null;
  readonly upstreamRequestId: string | null;

  constructor(
    kind: FaultKind,
    message: string,
    facts: {
      status?: number | null;
      retryAfterMs?: number | null;
      errorType?: string | null;
      upstreamRequestId?: string | null;
      cause?: unknown;
    } = {},
  ) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.kind = kind;
    this.status = facts.status ?? null;
    this.retryAfterMs = facts.retryAfterMs ?? null;
    this.errorType = facts.errorType ?? null;
    this.upstreamRequestId = facts.upstreamRequestId ?? null;
  }
}

/** What a provider answered that was only asked whether it is there. */
export interface ProbeReply {
  status: number | null;
  /** How many models it offers this credential; null when it does not tell. */
  models: number | null;
}

/** A kind of provider. Stateless: everything about one installation's provider comes with the attempt. */
export interface Provider {
  kind: string;
  /** Sends a submission; resolves when the upstream has begun to answer. Throws ProviderFault. */
  submit(attempt: Attempt): Promise<ProviderReply>;
  /** The provider's own count of the prompt, or null when it has no counter. Throws ProviderFault. */
  countTokens(attempt: Attempt): Promise<number | null>;
  /** The provider's exact count without asking it, or null: the general estimate is used. */
  countLocally(request: MessageRequest): number | null;
  /** Whether the model may think though it is not asked to, and show nothing of it; absent: none of its models does. */
  thinksUnasked?(upstreamModel: string): boolean;
  /**
   * Asks whether it is there and takes the credential, by requests that cost nothing; absent where that
   * cannot be asked. Bounded by the signal alone. Throws ProviderFault.
   */
  probe?(endpoint: ProviderEndpoint, signal: AbortSignal): Promise<ProbeReply>;
}
