// Chooses what happens in an episode by its seed: honest traffic all the time, and among it sequences of attackers,
// mutated and put into each other; more of what was worth it for them.

import { makeRandom } from '../../support/random.ts';
import { tokensOfAnswer } from './answers.ts';
import { type AccountName, attackerNames } from './cast.ts';
import type { Director, Facts } from './episode.ts';
import { priceOf, wellModels } from './models.ts';
import type { Move } from './moves.ts';
import { Dice, honest } from './sends.ts';
import { anyMove, sequences } from './sequences.ts';
import type { World } from './world.ts';

const ROUNDS_MAX = 4;
/** Tried more often, because they need more luck to succeed. */
const names = [...Object.keys(sequences), 'spendAtOnce', 'spendBonus', 'askAgain', 'askAgain'];

export function makeDirector(seed: number): Director {
  const dice = new Dice(makeRandom(seed));
  let roundsLeft = dice.between(1, ROUNDS_MAX);
  let last: { name: string; by: AccountName; gain: number } | null = null;
  return (facts, world) => {
    if (roundsLeft-- === 0) return null;
    const by = dice.one(attackerNames);
    const gain = gainOf(by, facts, world);
    const goesOn: boolean = last !== null && gain > last.gain && dice.chance(0.5);
    const name: string = goesOn && last !== null ? last.name : dice.one(names);
    last = { name, by, gain };
    const moves = mutated(dice, by, sequences[name]?.(dice, by) ?? []);
    const other = dice.chance(0.25) ? (sequences[dice.one(names)]?.(dice, by) ?? []) : [];
    return [...(dice.chance(0.5) ? honest(dice, dice.one(wellModels)) : []), ...spliced(dice, moves, other)];
  };
}

/** The value of the output that the account has read, above what it has paid. */
function gainOf(by: AccountName, { messages }: Facts, { tables }: World): number {
  let gain = 0;
  for (const { asked, receivedBytes, requestId } of messages) {
    if (asked.by !== by) continue;
    gain += priceOf(0, tokensOfAnswer(asked.wanted, receivedBytes));
    gain -= tables.endings.get(requestId ?? '')?.record.cost ?? 0;
  }
  return gain;
}

function mutated(dice: Dice, by: AccountName, moves: Move[]): Move[] {
  return moves.flatMap((move): Move[] => {
    const luck = dice.below(40);
    if (luck === 0) return [];
    if (luck === 1) return [move, anyMove(dice, by)];
    if (luck === 2) return [move, move];
    if (move.move === 'wait' && luck < 10) return [{ ...move, ms: Math.round(move.ms * dice.one([0.1, 0.5, 2, 4])) }];
    return [move];
  });
}

function spliced(dice: Dice, moves: readonly Move[], other: readonly Move[]): Move[] {
  if (other.length === 0) return [...moves];
  const at = dice.below(moves.length + 1);
  return [...moves.slice(0, at), ...other, ...moves.slice(at)];
}
