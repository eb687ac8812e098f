// Extras of a recharge by steps of settings: a bonus in percent, credited as an entry of its own and taken back in the same proportion, and a
// group. Pure.

import { exactNumber } from '../base/checked-number.ts';
import { type Nano, parseDecimal, parseUsd } from '../base/money.ts';

/** A step of the setting `recharge_bonus`. */
export interface BonusTier {
  /** The least amount of a recharge that gets it. */
  from: Nano;
  percent: string;
}

/** Steps as the setting has them, "100: 5%", lowest amount first. */
export function readBonusTiers(texts: readonly string[]): BonusTier[] {
  return texts
    .map((text) => {
      const [from = '', percent = ''] = text.split(': ');
      return { from: parseUsd(from) ?? 0, percent: percent.replace('%', '') };
    })
    .sort((one, other) => one.from - other.from);
}

/** The group of the highest step of `recharge_groups`, "100: pro", that the amount reaches; null: none. */
export function groupOf(amount: Nano, texts: readonly string[]): string | null {
  const steps = texts.map((text) => {
    const [from = '', name = ''] = text.split(': ');
    return { from: parseUsd(from) ?? 0, name };
  });
  return steps.sort((one, other) => one.from - other.from).findLast(({ from }) => amount >= from)?.name ?? null;
}

/** The bonus of a paid recharge, rounded down: that of the highest step that the amount reaches. */
export function bonusOf(amount: Nano, tiers: readonly BonusTier[]): Nano {
  const tier = tiers.findLast(({ from }) => amount >= from);
  const hundredths = tier === undefined ? 0n : (parseDecimal(tier.percent, 2) ?? 0n);
  return exactNumber((BigInt(amount) * hundredths) / 10_000n);
}

/** The part of a bonus that stays credited while this much of the amount is. */
export function bonusLeft(bonus: Nano, amount: Nano, credited: Nano): Nano {
  return amount === 0 ? 0 : exactNumber((BigInt(bonus) * BigInt(credited)) / BigInt(amount));
}
