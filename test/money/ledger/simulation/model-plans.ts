// Plans of the ledger's model: windows are found by walking from one to the next.

import type { Operation, PlanTerms, WindowLength } from '../../../../src/ledger/ledger.ts';
import type { Model, ModelAccount, ModelHold, ModelWindow } from './model-rows.ts';

type LongLength = Exclude<WindowLength, '5h'>;

const HOUR_MS = 3_600_000;

/** Part of the running messages' holds that the plan holds. */
export function planHeldOf(model: Model, account: number): number {
  let held = 0;
  for (const hold of model.holds.values()) if (hold.payer === account) held += hold.fromPlan;
  return held;
}

/** Whether the plan pays for messages of the group. */
export function covers(model: Model, { plan }: ModelAccount, group: string): boolean {
  return plan !== null && isRunning(model, plan) && (plan.groups?.includes(group) ?? true);
}

/** The amount that all windows have left for a message, now and if no message held anything. */
export function planLeft(model: Model, account: ModelAccount, group: string): { now: number; later: number } {
  if (account.plan === null || !covers(model, account, group)) return { now: 0, later: 0 };
  const least = Math.min(...windowsOf(model, account).map(({ limit, used }) => limit - used));
  return { now: Math.max(0, least - planHeldOf(model, account.id)), later: Math.max(0, least) };
}

/** The windows of the account's plan as they are now. */
export function windowsOf(model: Model, account: ModelAccount): (ModelWindow & PlanTerms['windows'][number])[] {
  const { plan, windows } = account;
  if (plan === null) return [];
  return plan.windows.map(({ length, limit }) => {
    const window = windows.get(length);
    if (window === undefined) throw new Error(`the plan of ${account.id} has no window of ${length}`);
    return { length, limit, ...windowAt(length, window, paidMs(model, plan)) };
  });
}

/** Once the paid time is over, no further window begins. */
function paidMs(model: Model, { paidUntilMs }: PlanTerms): number {
  return paidUntilMs === null ? model.nowMs : Math.min(model.nowMs, paidUntilMs - 1);
}

function windowAt(length: WindowLength, window: ModelWindow, atMs: number): ModelWindow {
  const { fromMs, firstMs } = window;
  if (length === '5h') {
    const isOver = fromMs !== null && atMs - fromMs >= 5 * HOUR_MS;
    return isOver ? { ...window, used: 0, fromMs: null } : window;
  }
  const startMs = lastStartMs(length, firstMs, atMs);
  return startMs > (fromMs ?? 0) ? { ...window, used: 0, fromMs: startMs } : window;
}

function lastStartMs(length: LongLength, firstMs: number, atMs: number): number {
  let lastMs = firstMs;
  for (const startMs of startsOf(length, firstMs)) {
    if (startMs > atMs) return lastMs;
    lastMs = startMs;
  }
  return lastMs;
}

function nextStartMs(length: LongLength, firstMs: number, atMs: number): number {
  for (const startMs of startsOf(length, firstMs)) if (startMs > atMs) return startMs;
  return firstMs;
}

/** The starts of all windows of a sequence but the first. */
function* startsOf(length: LongLength, firstMs: number): Generator<number> {
  for (let count = 1; ; count++)
    yield length === 'month'
      ? sameDayLater(firstMs, count)
      : firstMs + count * { day: 24, week: 168 }[length] * HOUR_MS;
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

/** A message now uses the plan, which begins its window of 5 hours. */
export function beginWindows(model: Model, account: ModelAccount): void {
  for (const { length, limit: _, ...window } of windowsOf(model, account))
    account.windows.set(length, { ...window, fromMs: window.fromMs ?? model.nowMs });
}

/** Charges the windows of the plan, and those of earlier plans that held a part for the message. */
export function usePlan(model: Model, account: ModelAccount, paid: number, hold: ModelHold | null): void {
  const present = new Set(windowsOf(model, account).map(({ length }) => length));
  beginWindows(model, account);
  for (const [length, window] of account.windows) {
    const part = present.has(length) ? paid : Math.min(paid, hold?.fromPlan ?? 0);
    const isCharged = present.has(length) || (hold !== null && hold.atMs <= window.untilMs);
    if (isCharged) account.windows.set(length, { ...window, used: window.used + part });
  }
}

/** Returns to the windows that were surely charged, because the account's plans had their length at that time. */
export function returnToPlan(model: Model, account: ModelAccount, amount: number, chargedMs: number): void {
  const present = new Map(windowsOf(model, account).map(({ length, limit: _, ...window }) => [length, window]));
  for (const [length, window] of account.windows) {
    const now = present.get(length) ?? window;
    if (chargedMs > now.sinceMs && chargedMs < now.untilMs)
      account.windows.set(length, { ...now, used: Math.max(0, now.used - amount) });
  }
}

function isRunning(model: Model, { endsAtMs }: PlanTerms): boolean {
  return endsAtMs === null || model.nowMs < endsAtMs;
}

type Of<Kind extends Operation['kind']> = Extract<Operation, { kind: Kind }>;

export function setPlan(model: Model, { account: id, plan, keepsOverflow }: Of<'set-plan'>): Record<string, unknown> {
  const account = model.accounts.get(id);
  if (account === undefined) return { ok: false, reason: 'unknown_account' };
  const { plan: before } = account;
  if (plan === null && before !== null && planHeldOf(model, id) > 0) {
    // It stays while messages hold a part of it.
    account.plan = { ...before, endsAtMs: model.nowMs };
    return { ok: true, kind: 'done' };
  }
  const isFirst = before === null && account.windows.size === 0;
  const lasting = new Set(before?.windows.map(({ length }) => length));
  for (const { length, limit: _, ...window } of windowsOf(model, account))
    account.windows.set(length, { ...window, untilMs: model.nowMs });
  if (plan === null) account.plan = null;
  else {
    account.plan = { ...plan, overflow: keepsOverflow ? (before?.overflow ?? plan.overflow) : plan.overflow };
    for (const { length } of plan.windows) {
      const last = account.windows.get(length);
      const sinceMs = lasting.has(length) ? (last?.sinceMs ?? 0) : isFirst ? 0 : model.nowMs;
      const window = nextWindow(length, last, plan.anchorMs, paidMs(model, plan));
      account.windows.set(length, { ...window, sinceMs, untilMs: Number.POSITIVE_INFINITY });
    }
  }
  for (const [length, { fromMs, untilMs }] of account.windows)
    if (fromMs === null && untilMs < Number.POSITIVE_INFINITY) account.windows.delete(length);
  return { ok: true, kind: 'done' };
}

/** The plan's own window if it overlaps none of which something was used. */
function nextWindow(
  length: WindowLength,
  last: ModelWindow | undefined,
  firstMs: number,
  atMs: number,
): Pick<ModelWindow, 'used' | 'fromMs' | 'firstMs'> {
  if (length === '5h') return last === undefined ? { used: 0, fromMs: null, firstMs } : windowAt(length, last, atMs);
  const own = { used: 0, fromMs: lastStartMs(length, firstMs, atMs), firstMs };
  if (last === undefined || last.fromMs === null) return own;
  const freeMs = last.used > 0 ? nextStartMs(length, last.firstMs, last.fromMs) : last.fromMs;
  const isFree = own.fromMs >= freeMs && atMs >= freeMs;
  return isFree ? own : windowAt(length, last, atMs);
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
