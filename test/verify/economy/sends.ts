// Moves that send messages: honest traffic, and messages of any kind.

import { type Ending, type ServerTool, serverTools } from './answers.ts';
import { type AccountName, honestNames } from './cast.ts';
import { type ModelName, modelNames } from './models.ts';
import type { LeavePoint, Move, Send } from './moves.ts';
import { type Text, type TextKind, textKinds } from './texts.ts';

export class Dice {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  below(most: number): number {
    return Math.floor(this.#random() * most);
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  chance(share: number): boolean {
    return this.#random() < share;
  }

  one<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }
}

/** Ordinary use: ordinary text from healthy providers, mostly read to the end. */
export function honest(dice: Dice, model: ModelName): Move[] {
  const by = dice.one(honestNames);
  const moves: Move[] = [
    send(dice, by, { ...ordinary(dice, model), reads: null, isStream: dice.chance(0.7) }),
    { move: 'wait', ms: dice.between(500, 8_000) },
  ];
  if (dice.chance(0.3)) moves.push({ move: 'leave', by, back: 0, times: 1 });
  if (dice.chance(0.2))
    moves.push({ move: 'repeat', change: 'nothing', reads: null, luck: 700, by, back: 0, times: 1 });
  return moves;
}

/** Messages of each honest account, under an idempotency key, and read. */
export function honestAnswers(dice: Dice, model: ModelName): Move[] {
  const of = { ...ordinary(dice, model), hasIdempotencyKey: true, reads: null, isStream: false };
  return [...honestNames.map((by) => send(dice, by, of)), { move: 'wait', ms: 20_000 }];
}

export function honestLeaves(dice: Dice, model: ModelName, times: number): Move[] {
  const by = dice.one(honestNames);
  return [
    send(dice, by, { ...ordinary(dice, model), answer: text('prose', 9_000), isStream: true, times, reads: null }),
    { move: 'wait', ms: dice.between(1_500, 3_000) },
    { move: 'leave', by, back: 0, times },
  ];
}

function ordinary(dice: Dice, model: ModelName): Partial<Send> {
  const prompt = text(dice.one(['prose', 'code', 'cjk']), dice.between(60, 900));
  const answer = text(dice.one(['prose', 'code', 'cjk']), dice.between(300, 9_000));
  const plain = { file: null, thinking: 0, tool: null, ending: 'answer', leavesAt: null } as const;
  return { model, key: 0, times: 1, maxTokens: 4_000, hasIdempotencyKey: dice.chance(0.3), prompt, answer, ...plain };
}

export function send(dice: Dice, by: AccountName, changes: Partial<Send>): Send {
  const tool = dice.chance(0.2) ? dice.one(serverTools) : null;
  return {
    move: 'send',
    by,
    key: dice.below(4),
    times: dice.one([1, 1, 1, 2, 5]),
    model: dice.one(modelNames),
    isStream: dice.chance(0.7),
    prompt: anyText(dice),
    answer: anyText(dice),
    maxTokens: dice.one([64, 1_000, 4_000]),
    luck: dice.below(1_000),
    hasIdempotencyKey: dice.chance(0.5),
    reads: dice.one([null, null, 3, 10]),
    leavesAt: dice.chance(0.3) ? anyLeavePoint(dice) : null,
    file: tool === 'summary' && dice.chance(0.2) ? longFile(dice) : dice.chance(0.1) ? anyFile(dice) : null,
    thinking: dice.chance(0.2) ? dice.between(100, 3_000) : 0,
    tool,
    uses: dice.between(1, 10),
    resultTokens: dice.between(200, 12_000),
    ending: anyEnding(dice),
    ...changes,
  };
}

export function anyLeavePoint(dice: Dice): LeavePoint {
  return dice.one(['begin', 'last text', 'last text', 'counts', dice.between(1, 30)]);
}

/** Few bytes of many tokens. */
export function anyFile(dice: Dice): Text {
  return text(dice.one(['prose', 'letters', 'digits']), dice.between(2_000, 50_000));
}

/** Long enough that a conversation is summarized. */
function longFile(dice: Dice): Text {
  const kind = dice.one(['letters', 'digits'] as const);
  return Array.from({ length: dice.between(1, 4) }, () => [kind, dice.between(40_000, PIECE_BYTES_MAX)] as const);
}

const PIECE_BYTES_MAX = 60_000;

export function anyTool(dice: Dice): { tool: ServerTool; uses: number; resultTokens: number } {
  return { tool: dice.one(serverTools), uses: dice.between(1, 10), resultTokens: dice.between(200, 12_000) };
}

function anyEnding(dice: Dice): Ending {
  return dice.one(['answer', 'answer', 'answer', 'answer', 'refusal', 'unusable']);
}

export function anyText(dice: Dice): Text {
  const kinds: TextKind[] = dice.chance(0.5) ? [dice.one(textKinds)] : [dice.one(textKinds), dice.one(textKinds)];
  return kinds.map((kind) => [kind, dice.between(30, 6_000)] as const);
}

export function text(kind: TextKind, bytes: number): Text {
  return [[kind, bytes]];
}
