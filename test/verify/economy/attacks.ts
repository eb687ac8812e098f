// Sequences of those who want more than they pay for: each tries to make a bill lower than what was produced, or to spend
// what belongs to others.

import type { Ending } from './answers.ts';
import { type AccountName, honestNames, planNames } from './cast.ts';
import { behaviourOf, isTruthful, wellModels } from './models.ts';
import type { Move, Send } from './moves.ts';
import { anyFile, anyLeavePoint, anyTool, type Dice, honestAnswers, send, text } from './sends.ts';
import { CENTS_MOST, reversals } from './till.ts';

type Sequence = (dice: Dice, by: AccountName) => Move[];

const quickly: Partial<Send> = { maxTokens: 4_000, reads: null, file: null, thinking: 0, tool: null, ending: 'answer' };
const hiding = wellModels.filter((name) => isTruthful(name) && !behaviourOf(name).isWholeOnly);
const late = ['late', 'lateCounted', 'never', 'neverCounted', 'running'] as const;
const stays = { leavesAt: null } as const;

export const attacks = {
  /** Read all that is of use, and left before the work of tools is counted. */
  leaveTools: (dice, by) => leaveEarly(dice, by, { ...anyTool(dice), model: dice.one(wellModels) }),
  /** The same before thinking that was not seen is counted. */
  leaveThinking: (dice, by) => leaveEarly(dice, by, { thinking: dice.between(500, 3_500), model: dice.one(hiding) }),
  /** The same before the prompt is counted. */
  leavePrompt(dice, by) {
    const prompt = text(dice.one(['digits', 'letters']), dice.between(2_000, 12_000));
    const of = dice.chance(0.3) ? { file: anyFile(dice) } : { prompt };
    return leaveEarly(dice, by, { ...of, model: dice.one(late) });
  },
  /** Counts that fall or contradict each other, do not come, or cannot be. */
  doubtfulCounts(dice, by) {
    const model = dice.one(['falling', 'falling', 'disagreeing', 'never', 'neverCounted', 'running', 'odd'] as const);
    const leavesAt = dice.chance(0.4) ? anyLeavePoint(dice) : null;
    const of = { ...quickly, model, leavesAt, isStream: true, times: 2, key: 0 };
    return [send(dice, mostlyRich(dice, by), of), pause(dice)];
  },
  /** Many at once whose prompts cost far more than their bytes. */
  dearPrompts(dice) {
    const of: Partial<Send> = { ...quickly, ...stays, times: dice.between(8, 30), isStream: dice.chance(0.2) };
    const file = dice.chance(0.5) ? [...anyFile(dice), ...anyFile(dice), ...anyFile(dice)] : null;
    const tool = file === null ? { tool: 'fetch' as const, uses: 10, resultTokens: dice.between(4_000, 15_000) } : {};
    const model = dice.one(['quarters', 'vendor', 'late', 'lateCounted', 'kinds'] as const);
    const cheap = { prompt: text('prose', 100), answer: text('prose', 100), maxTokens: 64 };
    const by = dice.one(['mal', 'moe'] as const);
    return [send(dice, by, { ...of, ...cheap, ...tool, file, model, key: dice.below(2) }), pause(dice)];
  },
  /** An answer that the model spoils when it is there, again and again, and a good one at the end. */
  spoiledAnswers(dice, by) {
    const ending: Ending = dice.one(['unusable', 'unusable', 'refusal']);
    const isStream = dice.chance(0.6);
    const model = dice.one(wellModels);
    const first = send(dice, by, { ...quickly, ...stays, ending, isStream, model, key: 0, times: 1 });
    const moves: Move[] = [
      { ...first, hasIdempotencyKey: true },
      { move: 'wait', ms: 9_000 },
    ];
    const again = { move: 'repeat', change: 'nothing', reads: null, by, back: 0, times: 1 } as const;
    for (let left = dice.between(0, 3); left > 0; left--)
      moves.push({ ...again, luck: dice.below(500) }, { move: 'wait', ms: 9_000 });
    return [...moves, { ...again, change: 'better', luck: 900 }, { move: 'wait', ms: 9_000 }];
  },
  /** Left or revoked while the model thinks, or before tools are seen to work. */
  leaveWhileHidden(dice, by) {
    const isOfTools = dice.chance(0.5);
    const of = isOfTools ? { ...anyTool(dice), reads: dice.between(1, 6) } : { thinking: dice.between(200, 3_000) };
    const answer = text(dice.one(['prose', 'letters']), dice.between(3_000, 12_000));
    const all = { ...quickly, ...stays, answer, isStream: true, times: 1, model: dice.one(hiding), maxTokens: 8_000 };
    const [name, key] = [mostlyRich(dice, by), dice.below(3)];
    return [
      send(dice, name, { ...all, ...of, key, hasIdempotencyKey: false }),
      { move: 'wait', ms: dice.one([400, 2_000, 6_000, 12_000, 20_000]) },
      dice.chance(0.6) ? { move: 'leave', by: name, back: 0, times: 1 } : { move: 'revoke', by: name, key },
      pause(dice),
    ];
  },
  /** The account ends its own running messages. */
  revokeRunning(dice, by) {
    const key = dice.below(4);
    const of = { ...quickly, ...stays, isStream: dice.chance(0.3), answer: text('prose', dice.between(2_000, 9_000)) };
    return [
      send(dice, by, { ...of, key, times: dice.between(1, 5), model: dice.one(wellModels) }),
      { move: 'wait', ms: dice.one([20, 150, 250, 1_000, 2_000]) },
      { move: 'revoke', by, key },
      pause(dice),
    ];
  },
  /** More at once than a key may have, by leaving. */
  leaveWhole(dice, by) {
    const key = dice.between(1, 2);
    const moves: Move[] = [];
    for (let left = dice.between(3, 7); left > 0; left--)
      moves.push(
        send(dice, by, {
          ...quickly,
          ...stays,
          isStream: dice.chance(0.2),
          key,
          times: 1,
          model: dice.one(wellModels),
        }),
        { move: 'wait', ms: dice.one([20, 120, 400]) },
        { move: 'leave', by, back: 0, times: 1 },
      );
    return moves;
  },
  /** From plan to plan, whenever one is used up. */
  switchPlans(dice) {
    const moves: Move[] = [];
    const of = { ...quickly, ...stays, isStream: false, key: 0, times: dice.between(3, 6), maxTokens: 800 };
    for (const plan of [...planNames, ...planNames, ...planNames])
      moves.push(
        { move: 'plan', by: 'pam', plan },
        send(dice, 'pam', { ...of, answer: text('prose', 3_000), prompt: text('prose', 300), model: 'quarters' }),
        { move: 'wait', ms: 9_000 },
      );
    return moves;
  },
  /** Large answers for which those of others are dropped. */
  pressStored(dice, by) {
    const answer = text('spaces', dice.between(20_000, 50_000));
    const of = { ...quickly, ...stays, model: 'vendor', isStream: false, answer, prompt: text('prose', 60) } as const;
    const moves: Move[] = [];
    for (let left = dice.between(1, 3); left > 0; left--)
      moves.push(send(dice, by, { ...of, hasIdempotencyKey: true, times: dice.between(15, 40), key: dice.below(3) }), {
        move: 'wait',
        ms: 25_000,
      });
    return [
      ...honestAnswers(dice, 'quarters'),
      ...moves,
      ...honestNames.map(
        (name) =>
          ({ move: 'repeat', change: 'nothing', reads: null, luck: 0, by: name, back: 0, times: 4 }) satisfies Move,
      ),
      { move: 'wait', ms: 1_000 },
    ];
  },
  /** A stored answer again and again, by a key with a rate. */
  replayOften(dice) {
    const of = {
      ...quickly,
      ...stays,
      model: 'quarters',
      answer: text('prose', 400),
      hasIdempotencyKey: true,
    } as const;
    const again = { move: 'repeat', change: 'nothing', reads: null, luck: 0, by: 'mal', back: 0, times: 1 } as const;
    const moves: Move[] = [send(dice, 'mal', { ...of, key: 3, times: 1 }), { move: 'wait', ms: 3_000 }];
    for (let left = dice.between(35, 60); left > 0; left--) moves.push(again);
    return moves;
  },
  /** A payment with a bonus, spent, and taken back in parts; then more messages. */
  spendBonus(dice) {
    const by = dice.one(['mal', 'moe'] as const);
    const of: Partial<Send> = { ...quickly, ...stays, key: dice.below(2), isStream: dice.chance(0.5) };
    const model = dice.one(['kinds', 'vendor', 'quarters'] as const);
    const spend = (times: number): Move[] => [
      send(dice, by, { ...of, model, times, prompt: text('prose', dice.between(4_000, 40_000)) }),
      { move: 'wait', ms: dice.one([100, 2_000, 15_000]) },
    ];
    const cents = dice.one([50, 199, 200, dice.between(50, CENTS_MOST)]);
    const moves: Move[] = [{ move: 'pay', by, cents }];
    for (let left = dice.between(1, 5); left > 0; left--)
      moves.push(...spend(dice.between(1, 20)), reversal(dice, by, cents), ...spend(dice.between(1, 6)));
    return [...moves, pause(dice)];
  },
  /** The service stops while messages run. */
  drain(dice, by) {
    const of = { ...quickly, isStream: dice.chance(0.7), times: dice.between(1, 4), model: dice.one(wellModels) };
    return [send(dice, by, of), { move: 'wait', ms: dice.between(10, 2_000) }, { move: 'drain' }, pause(dice)];
  },
} as const satisfies Record<string, Sequence>;

/** Often of the whole payment. */
function reversal(dice: Dice, by: AccountName, paidCents: number): Move {
  const cents = dice.one([paidCents, paidCents, 1, 33, dice.between(1, CENTS_MOST)]);
  return { move: 'reverse', by, how: dice.one(reversals), payment: dice.one([0, 0, 0, 1]), cents };
}

function leaveEarly(dice: Dice, by: AccountName, of: Partial<Send>): Move[] {
  const answer = text('prose', dice.between(200, 3_000));
  const all = { ...quickly, answer, isStream: true, times: 1, key: 0, leavesAt: anyLeavePoint(dice), ...of };
  return [send(dice, mostlyRich(dice, by), { ...all, hasIdempotencyKey: dice.chance(0.2) }), pause(dice)];
}

/** Where money ends, less is certain. */
function mostlyRich(dice: Dice, by: AccountName): AccountName {
  return dice.chance(0.7) ? 'eve' : by;
}

function pause(dice: Dice): Move {
  return { move: 'wait', ms: dice.one([1_000, 8_000, 20_000]) };
}
