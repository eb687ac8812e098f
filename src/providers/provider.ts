// The provider interface. Messages is the pivot: a provider translates it to and from its own protocol.

import type { FetchedFile } from '../base/fetch-file.ts';
import type { TraceContext } from '../base/trace-context.ts';
import type { Secret } from '../secrets/secrets.ts';
import type {
  JsonObject,
  MessageRequest,
  OtherUse,
  PlainDeltas,
  PricedTier,
  StreamEvent,
  Units,
} from '../wire/wire.ts';
import type { Abilities } from './abilities.ts';
import type { ProviderBatches } from './batches.ts';
import type { OfferedModel } from './offered-models.ts';

export interface ProviderEndpoint {
  name: string;
  kind: string;
  /** Without a trailing slash; empty for a provider inside the service. */
  baseUrl: string;
  /** The credential is sent as `authorization: Bearer`, whatever the kind's own header is; absent: no. */
  isBearer?: boolean;
  credential: Secret | null;
  /** Region and project at a cloud; absent or null for other kinds. */
  region?: string | null;
  project?: string | null;
  /** The workspace at the vendor that requests name, unless the client names one; absent or null: none. */
  workspace?: string | null;
  /** Where batches at a cloud keep requests and results, with the address of the store; absent or null: nowhere. */
  batchBucket?: { uri: string; url: string; role: string | null } | null;
  /** The provider may store requests, as its account is set; absent: no. */
  allowsStorage?: boolean;
  /** Files at web addresses are fetched for it; absent: off. */
  fetchUrls?: 'off' | 'public' | 'any';
}

/** The call of an attempt that is not sent now: a provider gets it as a part of a batch. */
export interface BatchedCall {
  url: string;
  /** JSON. */
  body: string;
  betas: string | null;
}

/** Resolves to the answer, of any status. */
export type Exchange = (call: BatchedCall) => Promise<Response>;

export interface Attempt {
  provider: ProviderEndpoint;
  request: MessageRequest;
  upstreamModel: string;
  /** The model's protocol at a provider whose kind has several; absent or null: chosen by the model's name. */
  protocol?: string | null;
  /** The client's max_tokens, with default and clamped to the model's limit. Absent when only tokens are counted. */
  maxTokens: number;
  /** Fields beyond the protocols that are passed on to the provider, in its own form; absent: none. */
  extra?: JsonObject;
  /** The client's `<vendor>-version`; null if absent. */
  version: string | null;
  /** The client's `<vendor>-beta` values, joined by commas; null if absent. */
  betas: string | null;
  /** Headers of the client that select objects of the credential's account; absent or null: none. */
  selectors?: readonly { name: string; value: string }[] | null;
  /** The credential is the client's own; absent: no. */
  isOwnAccount?: boolean;
  requestId: string;
  /** Fetches a file that the provider's answer names by its address. Never rejects. Absent: none is fetched. */
  fetchFile?(url: string): Promise<FetchedFile | { error: string }>;
  /** Trace context for the provider; absent or null: none. */
  trace?: TraceContext | null;
  /** Answers the call in place of the provider; absent: the provider is asked. */
  exchange?: Exchange;
  /** Aborts the upstream: `submit` and `next` then reject with a fault of kind `aborted`. */
  signal: AbortSignal;
}

export interface WholeReply {
  form: 'message';
  message: JsonObject;
  text: string;
  /** The text is the answer in the client's own protocol, and is sent as it is; absent: it is the message's JSON. */
  isNative?: true;
  /** Units that the provider reported; absent: those of the request are billed. */
  units?: Units;
  upstreamRequestId: string | null;
}

/** An answer of bytes as they arrive, such as sound or the provider's own events. */
export interface ByteReply {
  form: 'bytes';
  contentType: string;
  /** `next` rejects with ProviderFault. */
  chunks: AsyncIterator<Uint8Array>;
  /** The counts that the provider has reported so far, in the form of a message's `usage`, and units; null: none. */
  used(): { usage: JsonObject | null; units: Units | null };
  upstreamRequestId: string | null;
}

export type ProviderReply = { form: 'stream'; events: EventSource; upstreamRequestId: string | null } | WholeReply;
/** To an attempt for anything but a message. */
export type OtherReply = WholeReply | ByteReply;

/** Events with backpressure: the provider is read only as fast as `next` is called. */
export interface EventSource {
  /** Events in order, at least one, without keep-alives; null at the end. Throws an `error` event as ProviderFault. */
  next(): Promise<StreamEvent[] | null>;
  /** The same without a promise, which may call at once; absent: use `next`. */
  pull?(receiver: EventReceiver): void;
  /** Changes every fault that `next` will throw; absent: the source cannot do it itself. */
  mapFaults?(map: (fault: ProviderFault) => ProviderFault): void;
}

export interface EventReceiver {
  onEvents(events: StreamEvent[] | PlainDeltas | null): void;
  onFault(fault: ProviderFault): void;
}

export type FaultKind =
  | 'rejected' // the content was rejected: the client's fault
  | 'unusable' // the model ended its answer without a usable result: billed as reported, and final
  | 'credentials' // our own credit, key or access
  | 'not_found' // the provider has no such model, or no such path
  | 'rate_limited'
  | 'overloaded'
  | 'failed' // 5xx, an invalid answer, or no connection
  | 'timeout'
  | 'aborted'; // by this service

/** A provider's failure. Its message may be shown to clients only for `rejected`. */
export class ProviderFault extends Error {
  override name = 'ProviderFault';
  readonly kind: FaultKind;
  /** The provider's status; null without a response. */
  readonly status: number | null;
  readonly retryAfterMs: number | null;
  /** The provider's error type, kept for `rejected`. */
  readonly errorType: string | null;
  readonly upstreamRequestId: string | null;
  /** This provider does not support a feature of the request; another one may. */
  readonly isUnsupported: boolean;
  /** Counts that the provider reported for the answer, in the form of a message's `usage`; only for `unusable`. */
  readonly usage: JsonObject | null;

  constructor(
    kind: FaultKind,
    message: string,
    facts: Partial<
      Pick<
        ProviderFault,
        'status' | 'retryAfterMs' | 'errorType' | 'upstreamRequestId' | 'isUnsupported' | 'usage' | 'cause'
      >
    > = {},
  ) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.kind = kind;
    this.status = facts.status ?? null;
    this.retryAfterMs = facts.retryAfterMs ?? null;
    this.errorType = facts.errorType ?? null;
    this.upstreamRequestId = facts.upstreamRequestId ?? null;
    this.isUnsupported = facts.isUnsupported ?? false;
    this.usage = facts.usage ?? null;
  }
}

export interface ProbeReply {
  status: number | null;
  /** Number of models for this credential; null if unknown. */
  models: number | null;
  /** The result in words; absent: the usual sentence for its status. */
  message?: string;
}

/** A model at a provider, whose service tiers are asked about. */
export interface TierPlace extends Pick<ProviderEndpoint, 'baseUrl' | 'region'> {
  upstreamModel: string;
  protocol: string | null;
}

/** By the use of a model. */
export type OtherUses = Readonly<Partial<Record<OtherUse, (attempt: Attempt) => Promise<OtherReply>>>>;

/** A provider kind. Stateless: the attempt has everything about one provider. */
export interface Provider {
  kind: string;
  /** Sends an attempt; resolves when the upstream has begun to answer. Throws ProviderFault. */
  submit(attempt: Attempt): Promise<ProviderReply>;
  /** Sends an attempt for anything but a message, by the use of the model; absent: the kind does not have it. Throws ProviderFault. */
  uses?: OtherUses;
  /** The provider's token count of the prompt; null if it cannot count. Throws ProviderFault. */
  countTokens(attempt: Attempt): Promise<number | null>;
  /** The exact count without a request; null: the general estimate is used. */
  countLocally(request: MessageRequest): number | null;
  /** The exact tokens of a text of an answer; absent: not known here. */
  countTextLocally?(text: string): number;
  /** The most bytes by which a prompt is longer as it is sent than as it was measured; absent: none. */
  addedBytesMax?(request: MessageRequest, at: Pick<TierPlace, 'upstreamModel' | 'protocol'>): number;
  /** Whether the model may think by default without showing it; absent: no model of this kind does. */
  thinksByDefault?(upstreamModel: string): boolean;
  /** Whether the model gets the client's cache breakpoints with their lifetimes; absent: no model of this kind does. */
  keepsCacheLifetimes?(upstreamModel: string, protocol: string | null): boolean;
  /** Whether the model may be sent sound, and asked for it; absent: no model of this kind may. */
  sound?(upstreamModel: string, protocol: string | null): { input: boolean; output: boolean };
  /** Whether it compacts conversations of Responses, and takes compacted ones; absent: no. */
  compacts?(upstreamModel: string, protocol: string | null): boolean;
  /** Whether it has this service tier for a model; absent: no model of this kind has another tier than the standard one. */
  servesTier?(tier: PricedTier, at: TierPlace): boolean;
  /** Sampling parameters and thinking of the request that the model does not get; absent: not known. */
  ignores?(attempt: Attempt): readonly string[];
  /** Abilities of a model; null or absent: not known. */
  abilities?(upstreamModel: string, baseUrl: string): Abilities | null;
  /** The models, at least of the first page; absent: the kind has no list. Throws ProviderFault. */
  listModels?(endpoint: ProviderEndpoint, signal: AbortSignal): Promise<readonly OfferedModel[]>;
  /** Batches of its own; absent: it has none. */
  batches?: ProviderBatches;
  /** Tests the connection and the credential by requests that cost nothing. Only the signal bounds it. Throws ProviderFault. */
  probe?(endpoint: ProviderEndpoint, signal: AbortSignal): Promise<ProbeReply>;
}
