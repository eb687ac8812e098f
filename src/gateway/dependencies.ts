// The gateway's dependencies, composed by the server.

import type { Authenticator, TagSets } from '../accounts/accounts.ts';
import type { Clock } from '../base/clock.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Files } from '../files/files.ts';
import type { NodeLedger } from '../ledger/ledger.ts';
import type { Provider } from '../providers/providers.ts';
import type { Vault } from '../secrets/secrets.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import type { Estimates } from '../usage/usage.ts';
import type { AdmissionQueue, PromptCounts } from './admission-queue.ts';
import type { MessageReport, MessageTrace, TraceStart } from './client-request.ts';
import type { Conversations } from './conversations.ts';
import type { IdempotencyRecords } from './idempotency-records.ts';
import type { LastLevels } from './last-levels.ts';
import type { ModelLists } from './model-lists.ts';
import type { Recharges } from './recharges.ts';
import type { RouteHealth } from './route-health.ts';
import type { RunningMessages, Slots } from './running-messages.ts';
import type { SelfServiceReads } from './self-service.ts';
import type { SilenceWatches } from './silence-watch.ts';
import type { StreamHolds } from './stream-hold.ts';

/** Times that a message waits: without a byte for its client, and between counts of what its provider did not report. */
export interface MessageWaits {
  readonly firstEventWaitMs: number;
  readonly pingIntervalMs: number;
  /** While the hold stays, then until a bill by the upper bound is corrected. */
  readonly recountPausesMs: readonly number[];
  readonly correctionPausesMs: readonly number[];
}

export interface Gateway {
  /** The current catalog. */
  catalog(): Catalog;
  authenticator: Authenticator;
  ledger: NodeLedger;
  /** For entries of the catalog with `*`. */
  modelLists: Pick<ModelLists, 'find' | 'refresh' | 'stateOf'>;
  /** By kind. */
  providers: ReadonlyMap<string, Provider>;
  running: RunningMessages;
  /** In-flight slots of messages, admitted or not. */
  slots: Slots;
  /** Bounds the token counts requested from providers before a message is refused. */
  counting: PromptCounts;
  /** Messages that wait until prompts of their account are counted. */
  admissions: AdmissionQueue;
  /** null: payments are not set up. */
  recharges: Recharges | null;
  /** Absent: messages name no files. */
  files?: Files;
  /** The addresses of a host, from which files are fetched. Absent: none are. */
  lookup?(hostname: string): Promise<readonly string[]>;
  silence: SilenceWatches;
  streamHolds: StreamHolds;
  /** Output estimators, per model and account. */
  estimates: Estimates;
  /** Counts tokens that no provider counted. */
  tokenizer: Tokenizer;
  levels: LastLevels;
  /** The sets of tags that daily totals distinguish. */
  tagSets: TagSets;
  /** Stored responses of messages with an idempotency key. */
  answers: IdempotencyRecords;
  /** For GET /v1/key and GET /v1/usage/{request_id}. */
  selfServiceReads: SelfServiceReads;
  /** Defaults to the values in config.ts. */
  waits?: MessageWaits;
  clock: Clock;
  /** Seals the ids of spoken answers. */
  vault: Pick<Vault, 'seal' | 'open'>;
  /** Circuit breakers of the targets. */
  health: RouteHealth;
  conversations: Conversations;
  /** Whether a TCP connection to the host succeeds within `msMax`. */
  canConnect(baseUrl: string, msMax: number): Promise<boolean>;
  /**
   * Begins the trace of an admitted message. Absent: tracing is off, and the client's trace context is passed
   * through.
   */
  trace?(start: TraceStart): MessageTrace;
  /** Called once per admitted message, when it has ended. */
  report(report: MessageReport): void;
}
