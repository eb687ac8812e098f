// Plans of the ledger's model: windows are found by walking from one to the next.

import type { Operation, PlanTerms } from '../../../../src/ledger/ledger.ts';
import type { Model, ModelAccount, ModelPlan, ModelWindow } from './model-rows.ts';

const HOUR_MS = 3_600_000;

/** Part of the running messages' holds that the plan holds. */
export function planHeldOf(model: Model, account: number): number {
  let held = 0;
  for (const hold of model.holds.values()) if (hold.account === account) held += hold.fromPlan;
  return held;
}

/** Whether the plan pays for messages of the group. */
export function covers(model: Model, { plan }: ModelAccount, group: string): boolean {
  return plan !== null && isRunning(model, plan) && (plan.groups?.includes(group) ?? true);
}

/** The amount that all windows have left for a message, now and if no message held anything. */
export function planLeft(model: Model, account: ModelAccount, group: string): { now: number; later: number } {
  if (account.plan === null || !covers(model, account, group)) return { now: 0, later: 0 };
  const least = Math.min(...windowsOf(model, account.plan).map(({ limit, used }) => limit - used));
  return { now: Math.max(0, least - planHeldOf(model, account.id)), later: Math.max(0, least) };
}

/** The windows as they are now. */
export function windowsOf(model: Model, plan: ModelPlan): ModelWindow[] {
  // Once the paid time is over, no further window begins.
  const atMs = plan.paidUntilMs === null ? model.nowMs : Math.min(model.nowMs, plan.paidUntilMs - 1);
  return plan.windows.map((window) => {
    const { length, fromMs } = window;
    if (length === '5h') {
      const isOver = fromMs !== null && atMs - fromMs >= 5 * HOUR_MS;
      return isOver ? { ...window, used: 0, fromMs: null } : window;
    }
    const startMs = lastStartMs(length, plan.anchorMs, atMs);
    return startMs > (fromMs ?? 0) ? { ...window, used: 0, fromMs: startMs } : window;
  });
}

function lastStartMs(length: 'day' | 'week' | 'month', anchorMs: number, atMs: number): number {
  let startMs = anchorMs;
  for (let count = 1; ; count++) {
    const nextMs =
      length === 'month' ? sameDayLater(anchorMs, count) : startMs + { day: 24, week: 168 }[length] * HOUR_MS;
    if (nextMs > atMs) return startMs;
    startMs = nextMs;
  }
}

/** The same day of a later month, or its last one. */
function sameDayLater(anchorMs: number, months: number): number {
  const anchor = new Date(anchorMs);
  const found = new Date(anchorMs);
  found.setUTCDate(1);
  found.setUTCMonth(found.getUTCMonth() + months);
  const month = found.getUTCMonth();
  found.setUTCDate(anchor.getUTCDate());
  while (found.getUTCMonth() !== month) found.setUTCDate(found.getUTCDate() - 1);
  return found.getTime();
}

/** Charges the plan (negative: returns). `isBegun`: a message now uses it, which begins a window of 5 hours. */
export function usePlan(model: Model, account: ModelAccount, paid: number, isBegun: boolean): void {
  if (account.plan === null) return;
  const windows = windowsOf(model, account.plan).map((window) => ({
    ...window,
    used: Math.max(0, window.used + paid),
    fromMs: window.fromMs ?? (isBegun ? model.nowMs : null),
  }));
  account.plan = { ...account.plan, windows };
}

function isRunning(model: Model, { endsAtMs }: ModelPlan): boolean {
  return endsAtMs === null || model.nowMs < endsAtMs;
}

type Of<Kind extends Operation['kind']> = Extract<Operation, { kind: Kind }>;

export function setPlan(model: Model, { account: id, plan, keepsOverflow }: Of<'set-plan'>): Record<string, unknown> {
  const account = model.accounts.get(id);
  if (account === undefined) return { ok: false, reason: 'unknown_account' };
  if (plan !== null) {
    const overflow = keepsOverflow ? (account.plan?.overflow ?? plan.overflow) : plan.overflow;
    account.plan = planUnder(model, account.plan, { ...plan, overflow });
  } else if (account.plan !== null) {
    // It stays while messages hold a part of it.
    account.plan = planHeldOf(model, id) === 0 ? null : { ...account.plan, endsAtMs: model.nowMs };
  }
  return { ok: true, kind: 'done' };
}

/** Keeps the use of a running plan, window by window. */
function planUnder(model: Model, before: ModelPlan | null, terms: PlanTerms): ModelPlan {
  const kept = before !== null && isRunning(model, before) ? windowsOf(model, before) : [];
  const windows = terms.windows.map(({ length, limit }): ModelWindow => {
    const same = kept.find((window) => window.length === length);
    const used = same?.used ?? 0;
    if (length === '5h') return { length, limit, used, fromMs: same?.fromMs ?? null };
    const isSameSequence = same !== undefined && before?.anchorMs === terms.anchorMs;
    const fromMs = isSameSequence ? same.fromMs : lastStartMs(length, terms.anchorMs, model.nowMs);
    return { length, limit, used, fromMs };
  });
  const { name, groups, anchorMs, paidUntilMs, endsAtMs, overflow } = terms;
  return { name, groups, anchorMs, paidUntilMs, endsAtMs, overflow, windows };
}

export function changePlan(model: Model, { account: id, name, changes }: Of<'change-plan'>): Record<string, unknown> {
  const account = model.accounts.get(id);
  if (account === undefined) return { ok: false, reason: 'unknown_account' };
  if (account.plan?.name !== name) return { ok: false, reason: 'unknown_plan' };
  return setPlan(model, { kind: 'set-plan', account: id, plan: { ...account.plan, ...changes } });
}

/** The price passes the wallet. References are shared with credits. */
export function payPlan(model: Model, { account: id, amount, reference }: Of<'plan-payment'>): Record<string, unknown> {
  const account = model.accounts.get(id);
  if (account === undefined) return { ok: false, reason: 'unknown_account' };
  const { balance } = account;
  const paid = model.credits.get(`${id}/${reference}`);
  if (paid !== undefined) return { ok: true, kind: 'credited', amount: paid, balance, repeated: true };
  model.credits.set(`${id}/${reference}`, amount);
  model.planPayments += amount;
  return { ok: true, kind: 'credited', amount, balance, repeated: false };
}
