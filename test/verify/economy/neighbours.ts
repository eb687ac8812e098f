// No account's bill or service changes by what others do: the honest accounts' moves are made once more without those of
// the attackers, and each message is compared.

import { type AccountName, cast } from './cast.ts';
import { type Director, type EpisodeResult, inOrder, runEpisode, type Served } from './episode.ts';
import { priceOf } from './models.ts';
import type { Move } from './moves.ts';

const MORE_MS = 1_000; // of waiting, beside others
const COST_SHARE_MOST = 1.02;
const COST_TOKENS_MORE = 8;

/** As `runEpisode`, and compares the honest accounts' part of it with the same alone. */
export function runJudged(director: Director): EpisodeResult {
  const result = runEpisode(director);
  if (result.finding !== null || result.moves.some(({ move }) => move === 'suspend')) return result;
  const alone = runEpisode(inOrder(result.moves.map(withoutAttackers)));
  return { ...result, finding: alone.finding ?? differs(result.served, alone.served) };
}

/** The same time passes. */
function withoutAttackers(move: Move): Move {
  return 'by' in move && !cast[move.by].isHonest ? { move: 'wait', ms: 0 } : move;
}

function differs(beside: readonly Served[], alone: readonly Served[]): string | null {
  const of = (by: AccountName) => alone.filter((served) => served.by === by);
  const seen = new Map<AccountName, number>();
  for (const served of beside) {
    const at = seen.get(served.by) ?? 0;
    seen.set(served.by, at + 1);
    const same = of(served.by)[at];
    const words = same === undefined ? null : harm(served, same);
    if (words !== null) return `neighbour: message ${at} of ${served.by}, beside attackers: ${words}`;
  }
  return null;
}

function harm(beside: Served, alone: Served): string | null {
  if (alone.isServed && !beside.isServed) return `${beside.status} ${beside.errorCode}, and an answer without them`;
  if (alone.isReplay && !beside.isReplay) return 'no stored answer, which is there without them';
  if (beside.ms > alone.ms + MORE_MS) return `an answer after ${beside.ms} ms, not ${alone.ms}`;
  const most = COST_SHARE_MOST * alone.cost + priceOf(COST_TOKENS_MORE, COST_TOKENS_MORE);
  return beside.cost > most ? `billed ${beside.cost}, not ${alone.cost}` : null;
}
