// Thousands of messages at once on money for a few of them, over all nodes: who is served is counted, and what was paid.

import { formatUsd } from '../../../src/base/money.ts';
import { costOf } from '../../money/load.ts';
import { countVerdicts, readWallet, sendSpread } from './spread.ts';
import type { Nodes, ServiceNode } from './start-nodes.ts';

export const AT_ONCE = 5_000;
export const AFFORDED = 250;
const OUTPUT_TOKENS = 8;
const WORTH_NANO = AFFORDED * costOf(1, OUTPUT_TOKENS);
const WORTH = formatUsd(WORTH_NANO);

/** The limit that allows exactly this many messages. */
export const meters = {
  'the wallet': { account: { credit: WORTH }, key: {} },
  "the key's quota": { account: { credit: '10.00' }, key: { quota: WORTH } },
} as const;

/** Settings of the nodes: each message holds its maximum cost from its beginning, and none is shed. */
export const settings = { shed_loop_delay_ms: 60_000, output_tranche_tokens: 1_000_000 };

export interface Spent {
  verdicts: Record<string, number>;
  /** The account's spending, as a number of messages. */
  paid: number;
  held: number;
  /** How many records there are, and what of the key's quota was used. */
  records: number;
  quotaUsed: string;
  tookMs: number;
}

/** As it must be. */
export const exactly: Omit<Spent, 'tookMs'> = {
  verdicts: { '200': AFFORDED, '400 insufficient_user_quota': AT_ONCE - AFFORDED },
  paid: AFFORDED,
  held: 0,
  records: AFFORDED,
  quotaUsed: WORTH,
};

/** An account and a key are made at one node, and asked for at all. */
export async function spendTogether(nodes: Nodes, meter: keyof typeof meters, maker: ServiceNode): Promise<Spent> {
  const { service } = maker;
  const { account, key } = meters[meter];
  const made = await service.makeKey(account, key);
  const before = await readWallet(nodes, made.account);
  const body = { model: 'sandbox-lorem', max_tokens: OUTPUT_TOKENS, messages: [{ role: 'user', content: 'go' }] };
  const asked = Array.from({ length: AT_ONCE }, (_, at) => ({
    secret: made.secret,
    body: { ...body, stream: at % 2 === 0 },
  }));
  const { answers, tookMs } = await sendSpread(nodes, asked);
  const after = await readWallet(nodes, made.account);
  const usage = await service.admin('GET', `/usage?account=${made.account}&limit=1000`);
  const shown = await service.admin('GET', `/keys/${made.key}`);
  return {
    verdicts: countVerdicts(answers),
    paid: ((before.balance - after.balance) / WORTH_NANO) * AFFORDED,
    held: after.held,
    records: (usage['data'] as unknown[]).length,
    quotaUsed: shown['quota_used'] as string,
    tookMs,
  };
}
