// Every guard of the ledger's core, of its store in PostgreSQL, of changes of several nodes, of a move, of payments, and of a
// message's money in the gateway, as what is left of the code when it is taken out.

import { batchMutations } from './batches.ts';
import { changeMutations } from './changes.ts';
import { checkMutations } from './checks.ts';
import { estimateMutations } from './estimates.ts';
import { frontMutations } from './fronts.ts';
import { gatewayMutations } from './gateway.ts';
import { inputMutations } from './input.ts';
import { moveMutations } from './moves.ts';
import type { Mutation } from './mutation.ts';
import { nodeMutations } from './nodes.ts';
import { paymentMutations } from './payments.ts';
import { planMutations } from './plans.ts';
import { postgresMutations } from './postgres.ts';
import { priceMutations } from './prices.ts';

export const mutations: readonly Mutation[] = [
  ...batchMutations,
  ...checkMutations,
  ...nodeMutations,
  ...gatewayMutations,
  ...estimateMutations,
  ...postgresMutations,
  ...moveMutations,
  ...changeMutations,
  ...inputMutations,
  ...frontMutations,
  ...priceMutations,
  ...paymentMutations,
  ...planMutations,
];
