// Every guard of the ledger's core, as what is left of the code when it is taken out.

import { admissionMutations } from './admission.ts';
import { batchMutations } from './batches.ts';
import { checkMutations } from './checks.ts';
import { creditMutations } from './credits.ts';
import { endingMutations } from './endings.ts';
import { meterMutations } from './meters.ts';
import type { Mutation } from './mutation.ts';
import { nodeMutations } from './nodes.ts';

export const mutations: readonly Mutation[] = [
  ...admissionMutations,
  ...endingMutations,
  ...meterMutations,
  ...creditMutations,
  ...batchMutations,
  ...checkMutations,
  ...nodeMutations,
];
