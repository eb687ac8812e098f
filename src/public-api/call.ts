// One request on its way through this room, and what the room needs of the rest of the service.

import type { AddressRange } from '../base/address-range.ts';
import type { Clock } from '../base/clock.ts';
import type { Settings } from '../catalog/catalog.ts';
import type { TurnpikeError } from '../errors.ts';
import type { Reply, Submission } from '../gateway/gateway.ts';
import type { BodiesInFlight, Connection } from '../http/http.ts';

export type { Reply, Submission };

/** The gateway, bound to its own dependencies. All throw TurnpikeError for a refusal. */
export interface MessageGateway {
  submitMessage(submission: Submission): Promise<Reply>;
  countTokens(submission: Submission): Promise<Reply>;
  listModels(submission: Submission): Promise<Reply>;
  getModel(submission: Submission, id: string): Promise<Reply>;
  getKey(submission: Submission): Promise<Reply>;
  getUsage(submission: Submission, requestId: string): Promise<Reply>;
}

/** What became of one request, for logs and metrics. Of a stream: when it began. */
export interface Answered {
  requestId: string;
  receivedAtMs: number;
  durationMs: number;
  method: string;
  /** Without its query. */
  path: string;
  /** The caller's, through trusted proxies. */
  address: string;
  status: number;
  /** What was submitted; null when nothing was. */
  submission: Pick<Submission, 'trace' | 'times' | 'caller' | 'replayOf'> | null;
  /** What was refused or failed, with its cause for the operator. */
  failure: TurnpikeError | null;
}

/** How much is under way. Asked for every request, so that nothing is computed then. */
export interface Load {
  /** How late the event loop runs, as far as that stands. */
  loopDelayMs(): number;
  /** Messages whose answer is not at its end, streams among them. */
  openMessages(): number;
}

export interface PublicDependencies {
  messages: MessageGateway;
  bodies: BodiesInFlight;
  load: Load;
  clock: Clock;
  /** Those in force. */
  settings(): Pick<Settings, 'vendorPrefixes' | 'bodyBytesMax' | 'shedLoopDelayMs' | 'shedOpenMessages'>;
  trustedProxies: readonly AddressRange[];
  /** Whether a load balancer should send messages elsewhere: from the beginning of a stop. */
  isLeaving(): boolean;
  /** Whether messages are refused, which may begin later. */
  isDraining(): boolean;
  /** Whether the store answers; a rejection counts as no. */
  isStoreAvailable(): boolean | Promise<boolean>;
  /** Called once for each answer, but for preflights and for admitted messages, which the gateway reports at their end. */
  report(answered: Answered): void;
}

export interface Call {
  request: Request;
  connection: Connection;
  dependencies: PublicDependencies;
  requestId: string;
  receivedAtMs: number;
  /** As it came, without its query. */
  path: string;
  /** The caller's, through trusted proxies. */
  address: string;
  /** Which prefix the request used; `anthropic` until its headers were read. */
  vendorPrefix: string;
  /** What the gateway was given; null until then. */
  submission: Submission | null;
}

export type Handle = (call: Call) => Reply | Promise<Reply>;
