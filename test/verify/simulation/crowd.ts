// The plan of a run in which very many messages come at once to accounts that cannot pay for them all.

import { drawPlan, type Plan } from './simulate.ts';

/** 10,000 messages in the first moment, for which the accounts have too little money; in a company, of three levels and with budgets. */
export function crowd(hasFaults: boolean, isCompany = false): Plan {
  const plan = drawPlan(1);
  const unlimited = {
    requestsPerMinute: null,
    inputTokensPerMinute: null,
    outputTokensPerMinute: null,
    concurrency: null,
  };
  const never = { lostQuestion: 0, lostAnswer: 0, delivery: 0 };
  const whole = { crashBefore: 0, crashAfter: 0, crashTold: 0, cutBefore: 0, cutAfter: 0 };
  const calm = {
    store: whole,
    network: never,
    pauseMsMax: 60_000,
    crash: 0,
    suspend: 0,
    jump: 0,
    refuse: 0,
    slow: 0,
    neverBack: 0,
  };
  const broken = {
    ...calm,
    store: { ...whole, cutBefore: 0.05, cutAfter: 0.05, crashAfter: 0.001 },
    network: { ...never, lostAnswer: 0.01 },
  };
  return {
    ...plan,
    numbers: { nodes: 4, accounts: isCompany ? 25 : 100, keysPerAccount: isCompany ? 4 : 2, isCompany, hasPeers: true },
    load: {
      ...plan.load,
      burstMax: 1,
      claimed: 0.2,
      streamed: 0.8,
      costMax: 100,
      groups: new Map([['default', unlimited]]),
    },
    rule: {
      ...plan.rule,
      ...(isCompany ? { creditMax: 60_000, allowanceMax: 40_000 } : { creditMax: 6_000, allowanceMax: null }),
      creditLineMax: 0,
      quotaMax: null,
    },
    faults: hasFaults ? broken : calm,
    batchItemsMax: 0,
    atOnce: 10_000,
  };
}
