// What a message is billed for, by how it ended: what was reported, what was seen, or an estimate, and never more
// of what was seen than was covered.

import type { Outcome } from '../ledger/ledger.ts';
import type { CountedUsage, MessageCounter } from '../usage/usage.ts';
import { NO_TOKENS } from '../wire/wire.ts';
import type { Cover } from './cover.ts';
import type { MessagePlan } from './plan-message.ts';
import type { StopReason } from './stop-error.ts';

/** What is looked at of a message. */
export interface Billed {
  readonly counter: MessageCounter;
  readonly plan: Pick<MessagePlan, 'inputEstimate' | 'thinks'>;
  /** The max_tokens that went to the provider. */
  readonly maxTokens: number;
  /** Of a stream. */
  readonly cover: Pick<Cover, 'coveredTokens'> | null;
  readonly stopReason: StopReason | null;
}

/** Counts with where they come from; with `none` nothing is charged. */
export function countBilled(message: Billed, outcome: Outcome): CountedUsage {
  const { inputEstimate, thinks } = message.plan;
  const use = outcome === 'quota_cut' ? 'covered' : 'billed';
  const usage = message.counter.total({ inputEstimate, outputTokensMax: message.maxTokens }, use);
  // Nothing of it was seen, but the upstream worked on it until we stopped waiting.
  if (usage.source === 'none' && outcome === 'client_gone' && message.stopReason === 'caller_left') {
    return { ...usage, counts: { ...NO_TOKENS, input: inputEstimate }, source: 'estimated' };
  }
  if (outcome === 'failed') return { ...usage, counts: { ...NO_TOKENS }, source: 'none' };
  if (message.cover === null || outcome === 'completed') return usage;
  const { coveredTokens } = message.cover;
  const { counts, source } = usage;
  if (use === 'billed' && (thinks || source === 'reported')) return usage;
  if (counts.output <= coveredTokens || (source === 'reported' && thinks)) return usage;
  // What came last was more than was paid for, and was not passed on.
  return { ...usage, counts: { ...counts, output: coveredTokens }, source: 'estimated' };
}
