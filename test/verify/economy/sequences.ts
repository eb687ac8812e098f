// The moves that clients choose among: sequences with something in mind, and single moves of any kind.

import { attacks } from './attacks.ts';
import { type AccountName, attackerNames } from './cast.ts';
import { modelNames, wellModels } from './models.ts';
import type { Move } from './moves.ts';
import { anyText, type Dice, honest, honestLeaves, send, text } from './sends.ts';

export type Sequence = (dice: Dice, by: AccountName) => Move[];

/** Sequences with an intention each; the judge decides about the outcome. */
export const sequences: Readonly<Record<string, Sequence>> = {
  ...attacks,
  /** Prompts that hardly cost anything, then many that do, at once. */
  spendAtOnce(dice) {
    const by = dice.one(attackerNames);
    const model = dice.one(['kinds', 'vendor', 'late', 'bytes'] as const);
    const isStream = dice.chance(0.5);
    const taught = { model, isStream: false, answer: text('prose', 40), maxTokens: 16 };
    const costly = {
      model,
      isStream,
      prompt: text(dice.one(['letters', 'digits', 'code']), dice.between(4_000, 18_000)),
    };
    return [
      send(dice, by, { ...taught, times: dice.between(16, 24), prompt: text('spaces', 800) }),
      { move: 'wait', ms: 4_000 },
      send(dice, 'mal', { ...costly, times: dice.between(10, 60), key: dice.below(2), answer: text('prose', 200) }),
      { move: 'wait', ms: 10_000 },
    ];
  },
  /** An answer that breaks off when most of it was read, and is asked for again. */
  askAgain(dice, by) {
    const model = dice.one(['stall', 'cuts', 'stall', 'kinds'] as const);
    const change = dice.one(['beta', 'nothing', 'nothing', 'body'] as const);
    const answer = text(dice.one(['prose', 'code']), dice.between(6_000, 24_000));
    return [
      send(dice, by, {
        model,
        hasIdempotencyKey: true,
        isStream: true,
        answer,
        reads: dice.between(10, 60),
        times: 1,
        key: 0,
      }),
      { move: 'wait', ms: dice.between(20_000, 60_000) },
      { move: 'read', chunks: null, by, back: 0, times: 1 },
      { move: 'wait', ms: dice.between(2_000, 20_000) },
      { move: 'repeat', change, reads: dice.one([null, 0, 2]), luck: dice.below(1_000), by, back: 0, times: 1 },
      { move: 'wait', ms: dice.one([0, 0, 100, 5_000]) },
      { move: 'leave', by, back: 0, times: 1 },
      { move: 'wait', ms: dice.one([0, 1_000, 30_000]) },
    ];
  },
  /** Text that is counted oddly, many times; then others use the same model, and leave. */
  teach(dice, by) {
    const model = dice.one(['kinds', 'vendor', 'late', 'quarters'] as const);
    const taught = { model, answer: text(dice.one(['letters', 'spaces', 'digits']), dice.between(200, 1_200)) };
    return [
      send(dice, by, { ...taught, times: dice.between(40, 100), isStream: dice.chance(0.5), key: 0, maxTokens: 2_000 }),
      { move: 'wait', ms: 15_000 },
      ...honestLeaves(dice, model, 6),
    ];
  },
  /** Begun and left, again and again, more than a key may have at once. */
  collectLater(dice, by) {
    const key = dice.between(1, 2);
    const moves: Move[] = [];
    for (let round = dice.between(2, 5); round > 0; round--)
      moves.push(
        send(dice, by, {
          hasIdempotencyKey: true,
          isStream: dice.chance(0.8),
          key,
          times: 1,
          model: dice.one(wellModels),
          answer: text('prose', 12_000),
        }),
        { move: 'wait', ms: dice.between(100, 1_500) },
        { move: 'leave', by, back: 0, times: 1 },
      );
    const repeat = {
      move: 'repeat',
      change: 'nothing',
      reads: null,
      luck: 0,
      by,
      back: 0,
      times: moves.length / 3,
    } as const;
    return [...moves, { move: 'wait', ms: dice.between(0, 30_000) }, repeat];
  },
  /** Streams that nobody reads; then others use the same model. */
  rest(dice, by) {
    const model = dice.one(wellModels);
    const answer = text('prose', dice.between(8_000, 30_000));
    return [
      send(dice, by, { model, answer, isStream: true, key: 0, times: dice.between(3, 10), reads: dice.between(1, 5) }),
      { move: 'wait', ms: dice.between(20_000, 180_000) },
      ...(dice.chance(0.5) ? [{ move: 'read', chunks: null, by, back: 0, times: 10 } as const] : []),
      { move: 'wait', ms: dice.between(100, 2_000) },
      ...honest(dice, model),
    ];
  },
  /** A node that stands still while it answers. */
  standStill(dice, by) {
    const answer = text('prose', dice.between(2_000, 20_000));
    return [
      send(dice, by, {
        hasIdempotencyKey: dice.chance(0.6),
        isStream: dice.chance(0.3),
        key: 0,
        times: dice.between(1, 3),
        answer,
      }),
      { move: 'wait', ms: dice.between(100, 1_500) },
      { move: 'suspend', ms: dice.between(5_000, 60_000) },
      { move: 'wait', ms: 20_000 },
      { move: 'repeat', change: 'nothing', reads: null, luck: 700, by, back: 0, times: 1 },
      { move: 'wait', ms: 5_000 },
    ];
  },
  oddBody: (dice, by) => [
    { move: 'odd', by, body: dice.one(['length twice', 'length twice', 'many members']) },
    ...honest(dice, dice.one(wellModels)),
  ],
  anything(dice, by) {
    return Array.from({ length: dice.between(3, 12) }, () => anyMove(dice, by));
  },
};

export function anyMove(dice: Dice, by: AccountName): Move {
  const of = { by, back: dice.below(4), times: dice.one([1, 1, 3]) };
  switch (dice.below(10)) {
    case 0:
      return { move: 'leave', ...of };
    case 1:
      return { move: 'rest', ...of };
    case 2:
      return { move: 'read', chunks: dice.one([1, 5, null]), ...of };
    case 3:
      return {
        move: 'repeat',
        change: dice.one(['nothing', 'beta', 'body', 'better']),
        reads: dice.one([null, 0, 3]),
        luck: dice.below(1_000),
        ...of,
      };
    case 4:
    case 5:
      return { move: 'wait', ms: dice.one([0, 50, 500, 3_000, 20_000, 70_000]) };
    case 6:
      return { move: 'revoke', by, key: dice.below(4) };
    case 7:
      return { move: 'count', by, model: dice.one(modelNames), prompt: anyText(dice) };
    default:
      return send(dice, by, {});
  }
}
