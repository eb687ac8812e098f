// The bill of a message: a pure function from the evidence of its usage to token counts, by who ended it. A test compares
// it with the table of docs/ledger.md#interrupted-messages.

import { bounds } from '../config/config.ts';
import type { TokenCounts } from '../wire/wire.ts';

/** Who or what ended a message. */
export type Ending =
  | 'answered' // the provider, with its last event
  | 'unusable' // the model, without a usable result
  | 'client' // the client disconnected, or did not read
  | 'money' // the balance, an allowance or a quota is exhausted
  | 'revoked' // the key was revoked with `now`
  | 'provider' // the provider failed after it had begun
  | 'service' // this service stopped
  | 'refused'; // the provider refused the request, or failed before its answer began

/** The knowledge of a message at its end: nothing was received, only the end reveals the rest, a part, or all counts. */
export type Known = 'nothing' | 'hidden' | 'part' | 'final';

/** `held`: everything that was held. `evidence`: the largest of what was reported, counted and relayed. */
export type Bill = 'nothing' | 'evidence' | 'held';

export const BILLS: Readonly<Record<Ending, Readonly<Record<Known, Bill>>>> = {
  answered: { nothing: 'nothing', hidden: 'evidence', part: 'evidence', final: 'evidence' },
  unusable: { nothing: 'nothing', hidden: 'evidence', part: 'evidence', final: 'evidence' },
  client: { nothing: 'held', hidden: 'held', part: 'evidence', final: 'evidence' },
  money: { nothing: 'held', hidden: 'held', part: 'evidence', final: 'evidence' },
  revoked: { nothing: 'held', hidden: 'held', part: 'evidence', final: 'evidence' },
  provider: { nothing: 'nothing', hidden: 'evidence', part: 'evidence', final: 'evidence' },
  service: { nothing: 'nothing', hidden: 'evidence', part: 'evidence', final: 'evidence' },
  refused: { nothing: 'nothing', hidden: 'nothing', part: 'nothing', final: 'nothing' },
};

/** The known usage of a message. Counts of the provider are the largest that it sent. */
export interface Evidence {
  /** The provider began to answer. */
  readonly hasBegun: boolean;
  /** `reportedOutput` includes all output. */
  readonly isFinal: boolean;
  /** Work was done that only the end of the answer reveals: of server tools, or thinking that is not shown. */
  readonly isHidden: boolean;
  /** The model may produce output that is not shown: a final count may exceed what was seen. */
  readonly mayHide: boolean;
  /** As reported, without summaries by the provider; `input` is 0 unless `isPromptReported`. */
  readonly prompt: TokenCounts;
  readonly isPromptReported: boolean;
  /** null: not reported, or not credible. */
  readonly reportedOutput: number | null;
  /** Summaries of the conversation that the provider made, which are not in the other counts. */
  readonly compactions: TokenCounts;
  /** Such summaries that were seen, reported or not. */
  readonly summaries: number;
  /** Reported, or seen as results. */
  readonly webSearches: number;
  /** Counts made by someone else; null: none. */
  readonly countedPrompt: number | null;
  readonly countedOutput: number | null;
  /** The most that the received output can be: a token a byte. */
  readonly outputMost: number;
}

/** The amounts that the hold of a message pays for. */
export interface Held {
  inputTokens: number;
  outputTokens: number;
  webSearches: number;
}

export function knownOf(evidence: Evidence): Known {
  if (!evidence.hasBegun) return 'nothing';
  if (evidence.isFinal && evidence.isPromptReported) return 'final';
  return evidence.isHidden ? 'hidden' : 'part';
}

/** The counts to bill; null: nothing is billed. */
export function billEvidence(ending: Ending, evidence: Evidence, held: Held): TokenCounts | null {
  const bill = BILLS[ending][knownOf(evidence)];
  if (bill === 'nothing') return null;
  const counts = countsOf(bill === 'held' ? { ...evidence, outputMost: 0 } : evidence, held);
  const compactions = compactionsOf(evidence);
  const cached = counts.cacheRead + counts.cacheWrite5m + counts.cacheWrite1h;
  const isRelayed = ending !== 'money' && ending !== 'service'; // output beyond the hold may still wait for it
  if (!isRelayed && !(evidence.isFinal && evidence.mayHide)) counts.output = Math.min(counts.output, held.outputTokens);
  if (bill === 'held') {
    counts.input = Math.max(counts.input, held.inputTokens - cached - compactions.input);
    counts.output = Math.max(counts.output, held.outputTokens);
    counts.webSearches = Math.max(counts.webSearches, held.webSearches);
  }
  return add(counts, compactions);
}

/** A summary that the provider did not report, as it reports nothing, has read the prompt. */
function compactionsOf({ compactions, summaries, isPromptReported, countedPrompt }: Evidence): TokenCounts {
  if (isPromptReported || compactions.input > 0 || countedPrompt === null) return compactions;
  return { ...compactions, input: Math.min(bounds.usageTokensMax, summaries * countedPrompt) };
}

/** A count that nobody made is the upper bound. */
function countsOf(evidence: Evidence, held: Held): TokenCounts {
  const { prompt, isPromptReported, isFinal, reportedOutput, countedOutput, outputMost } = evidence;
  const cached = prompt.cacheRead + prompt.cacheWrite5m + prompt.cacheWrite1h;
  const input = isPromptReported ? prompt.input : Math.max(0, (evidence.countedPrompt ?? held.inputTokens) - cached);
  const unreported = isFinal ? 0 : (countedOutput ?? outputMost);
  return { ...prompt, input, output: Math.max(reportedOutput ?? 0, unreported), webSearches: evidence.webSearches };
}

function add(counts: TokenCounts, more: TokenCounts): TokenCounts {
  return {
    input: counts.input + more.input,
    output: counts.output + more.output,
    cacheRead: counts.cacheRead + more.cacheRead,
    cacheWrite5m: counts.cacheWrite5m + more.cacheWrite5m,
    cacheWrite1h: counts.cacheWrite1h + more.cacheWrite1h,
    webSearches: counts.webSearches + more.webSearches,
  };
}
