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

const ends = mutate('src/usage/produced-output.ts', [
  [
    'estimate-money-end',
    'a message without money is billed no higher than one whose client disconnects',
    'hasSamples(this.#estimate) ? Math.min(covered, this.#billedTokens(tokensMax, low > 0 ? low : top)) : covered',
    'covered',
  ],
]);

export const estimateMutations = [...figures, ...votes, ...ends];
