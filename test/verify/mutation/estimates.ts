// The guards of estimates: what one account's samples may do to the bills and holds of others.

import { mutate } from './mutation.ts';

const figures = mutate('src/usage/output-estimate.ts', [
  [
    'estimate-others-raise',
    'samples of other accounts raise no bill',
    "Math.min(baseline, Math.max(OTHERS_LOWER_TO * baseline, medianVote(votes, classes, 'low')))",
    "Math.max(OTHERS_LOWER_TO * baseline, medianVote(votes, classes, 'low'))",
  ],
  [
    'estimate-others-lower',
    'samples of other accounts lower a bill only so far',
    "Math.max(OTHERS_LOWER_TO * baseline, medianVote(votes, classes, 'low'))",
    "medianVote(votes, classes, 'low')",
  ],
  [
    'estimate-own-floor',
    'no samples lower the bill of text to nothing',
    'Math.max(predicted * spreadOf(own, classes).low, TOKENS_PER_TEXT_BYTE_LEAST * textBytes(classes))',
    'predicted * spreadOf(own, classes).low',
  ],
  [
    'estimate-cover-others',
    'samples of other accounts raise the covered amount only up to a bound',
    "Math.min(OTHERS_COVER_MOST * baseline, medianVote(votes, classes, 'high'))",
    "medianVote(votes, classes, 'high')",
  ],
  [
    'estimate-cover-floor',
    'samples of an account cannot lower the covered amount to zero',
    'return Math.max(COVER_LEAST * baseline, sampled);',
    'return sampled;',
  ],
]);

const votes = mutate('src/usage/estimates.ts', [
  [
    'estimate-votes',
    'one other account has no say',
    'votes: votes.length >= ACCOUNTS_LEAST ? votes.slice(-VOTES_MAX) : [],',
    'votes: votes.slice(-VOTES_MAX),',
  ],
  [
    'estimate-speeds',
    'the speed of one other account has no say',
    'const isTimed = speeds.length >= ACCOUNTS_LEAST;',
    'const isTimed = speeds.length > 0;',
  ],
]);

const bills = mutate('src/usage/bill.ts', [
  [
    'bill-covered',
    'a message without money is billed at most the covered output',
    'counts.output = Math.min(counts.output, held.outputTokens);',
    'counts.output = Math.max(counts.output, 0);',
  ],
  [
    'bill-unseen',
    'unseen output that was reported is billed as reported',
    '!(evidence.isFinal && evidence.mayHide)',
    'evidence.mayHide !== null',
  ],
  [
    'bill-held-prompt',
    'a prompt of unknown size is billed as held if only the end of the answer would reveal it',
    'counts.input = Math.max(counts.input, held.inputTokens - cached - compactions.input);',
    '',
  ],
  [
    'bill-held-output',
    'output that only the end of the answer would reveal is billed as held',
    'counts.output = Math.max(counts.output, held.outputTokens);',
    '',
  ],
  [
    'bill-uncounted',
    'a prompt that nobody could count is billed as held',
    'evidence.countedPrompt ?? held.inputTokens',
    'evidence.countedPrompt ?? 0',
  ],
  [
    'bill-running',
    'output that the provider counted on the way is billed',
    'Math.max(reportedOutput ?? 0, unreported)',
    'unreported',
  ],
]);

const evidence = mutate('src/usage/merge-usage.ts', [
  [
    'evidence-output',
    'a count of output that falls does not lower the bill',
    'output: largest(before.output, after.output),\n    thinking',
    'output: after.output ?? before.output,\n    thinking',
  ],
  [
    'evidence-prompt',
    'a count of the prompt that falls does not lower the bill',
    'const sum = Math.max(tokensOf(before), tokensOf(later));',
    'const sum = tokensOf(later);',
  ],
  [
    'evidence-writes',
    'cache writes do not become cheaper tokens',
    'cacheWrite: largest(before.cacheWrite, later.cacheWrite),',
    'cacheWrite: later.cacheWrite,',
  ],
]);

export const estimateMutations = [...figures, ...votes, ...bills, ...evidence];
