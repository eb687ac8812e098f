// Messages at once over several nodes, and what became of them. No tests of its own.

import { parseUsd } from '../../../src/base/money.ts';
import { type Asked, holdRequests, type RawAnswer } from '../../support/held-requests.ts';
import type { Nodes } from './start-nodes.ts';

export interface Spread {
  /** In the order of what was asked, by node. */
  answers: RawAnswer[];
  /** From the first body that was sent to the last answer. */
  tookMs: number;
}

/** All of them stand open at the nodes in turn before the first body is sent. */
export async function sendSpread(nodes: Nodes, asked: readonly Asked[]): Promise<Spread> {
  const { all } = nodes;
  const held = await Promise.all(
    all.map(({ url }, at) =>
      holdRequests(
        url,
        asked.filter((_, place) => place % all.length === at),
      ),
    ),
  );
  const breakerState = held.reduce((sum, { openCount, answeredCount }) => sum + openCount - answeredCount, 0);
  if (breakerState !== asked.length) throw new Error(`only ${breakerState} of ${asked.length} stood open at once`);
  const startedMs = performance.now();
  const answers = (await Promise.all(held.map((one) => one.release()))).flat();
  return { answers, tookMs: performance.now() - startedMs };
}

/** How often each came: "200", "200 cut" of an answer without its end, else status and code. */
export function countVerdicts(answers: readonly RawAnswer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const answer of answers) counts[verdict(answer)] = (counts[verdict(answer)] ?? 0) + 1;
  return counts;
}

function verdict({ status, body }: RawAnswer): string {
  if (status !== 200) return `${status} ${JSON.parse(body).error.code}`;
  const isWhole = body.startsWith('{') ? JSON.parse(body).usage !== undefined : body.includes('event: message_stop\n');
  return isWhole ? '200' : '200 cut';
}

/** As each node shows it: they must agree. */
export async function readWallet(nodes: Nodes, account: string): Promise<{ balance: number; held: number }> {
  const shown = await Promise.all(nodes.all.map(({ service }) => service.admin('GET', `/accounts/${account}`)));
  const [first, ...others] = shown.map(({ balance, held }) => `${balance} ${held}`);
  if (others.some((other) => other !== first)) throw new Error(`the nodes differ: ${[first, ...others].join(', ')}`);
  const [balance = '', held = ''] = (first ?? '').split(' ');
  return { balance: parseUsd(balance) as number, held: parseUsd(held) as number };
}
