// What the gateway works with, put together by the root.

import type { Gatehouse } from '../accounts/accounts.ts';
import type { Clock } from '../base/clock.ts';
import type { Catalogue } from '../catalog/catalog.ts';
import type { NodeLedger } from '../ledger/ledger.ts';
import type { Provider } from '../providers/providers.ts';
import type { Estimates } from '../usage/usage.ts';
import type { Covers } from './covers.ts';
import type { KeptAnswers } from './kept-answers.ts';
import type { LastLevels } from './last-levels.ts';
import type { MessageTrace, TraceStart } from './message-trace.ts';
import type { OwnReads } from './own-reads.ts';
import type { PromptCounts } from './prompt-counts.ts';
import type { Conversations, RouteHealth } from './routes/routes.ts';
import type { RunningMessages } from './running-messages.ts';
import type { Seats } from './seats.ts';
import type { SilenceWatches } from './silence-watch.ts';
import type { MessageReport } from './submission.ts';

/** How long the caller of a stream is left without a byte. */
export interface StreamWaits {
  readonly firstEventWaitMs: number;
  readonly pingIntervalMs: number;
}

export interface Gateway {
  /** The catalogue in force. */
  catalogue(): Catalogue;
  gatehouse: Gatehouse;
  ledger: NodeLedger;
  /** By kind. */
  providers: ReadonlyMap<string, Provider>;
  running: RunningMessages;
  /** For messages under way, whether admitted yet or not. */
  seats: Seats;
  /** For counts of prompts that providers are asked for before a message is refused. */
  counting: PromptCounts;
  silence: SilenceWatches;
  covers: Covers;
  /** What is learned of each model, by which its messages are estimated. */
  estimates: Estimates;
  levels: LastLevels;
  /** Of messages that have an idempotency key. */
  answers: KeptAnswers;
  /** For what callers ask about themselves. */
  ownReads: OwnReads;
  /** Those of config.ts when absent. */
  waits?: StreamWaits;
  clock: Clock;
  /** How the ways to models do. */
  health: RouteHealth;
  conversations: Conversations;
  /** Whether a host lets itself be connected to in so long. */
  canConnect(baseUrl: string, msMax: number): Promise<boolean>;
  /** Begins the trace of an admitted message. Absent: nothing is traced, and what the caller says travels on. */
  trace?(start: TraceStart): MessageTrace;
  /** Told once of every admitted message, when it has ended. */
  report(report: MessageReport): void;
}
