// Holes that attackers could use, each as the change that puts it back.

import { type Mutation, mutate } from '../mutation/mutation.ts';

export const listHoles: readonly Mutation[] = [
  ...mutate('src/usage/read-usage.ts', [
    [
      'summaries-without-bound',
      'the summaries of a message have no more tokens than a message may have',
      'if (sum === null || allTokens(sum) <= bounds.usageTokensMax) return sum;',
      'return sum;',
    ],
  ]),
];
