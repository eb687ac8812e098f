// Every guard of the ledger's core, of its store in PostgreSQL, of changes of several nodes, of a move, and of a message's money in
// the gateway, as what is left of the code when it is taken out.

import { admissionMutations } from './admission.ts';
import { batchMutations } from './batches.ts';
import { changeMutations } from './changes.ts';
import { checkMutations } from './checks.ts';
import { claimMutations } from './claims.ts';
import { creditMutations } from './credits.ts';
import { endingMutations } from './endings.ts';
import { gatewayMutations } from './gateway.ts';
import { meterMutations } from './meters.ts';
import { monthMutations } from './months.ts';
import { moveMutations } from './moves.ts';
import type { Mutation } from './mutation.ts';
import { nodeMutations } from './nodes.ts';
import { postgresMutations } from './postgres.ts';

export const mutations: readonly Mutation[] = [
  ...admissionMutations,
  ...endingMutations,
  ...meterMutations,
  ...monthMutations,
  ...creditMutations,
  ...claimMutations,
  ...batchMutations,
  ...checkMutations,
  ...nodeMutations,
  ...gatewayMutations,
  ...postgresMutations,
  ...moveMutations,
  ...changeMutations,
];
