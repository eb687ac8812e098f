// Plans of accounts: the terms that the ledger keeps, made from a plan of the catalog, and their update when it changes.

import type { Nano } from '../base/money.ts';
import type { PlanSettings } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import type { NewEvent } from '../events/events.ts';
import type { LedgerGate, LedgerReader, PlanMeter, PlanTerms } from '../ledger/ledger.ts';

/** Until when a plan lasts, and what is used beyond it. */
export type PlanTimes = Pick<PlanTerms, 'anchorMs' | 'paidUntilMs' | 'endsAtMs' | 'overflow'>;

export function planTerms(plan: PlanSettings, { anchorMs, paidUntilMs, endsAtMs, overflow }: PlanTimes): PlanTerms {
  const { name, windows } = plan;
  return {
    name,
    windows,
    groups: plan.groups.length === 0 ? null : plan.groups,
    anchorMs,
    paidUntilMs,
    endsAtMs,
    overflow,
  };
}

/** Whether the plan has changed in the catalog since the account got these terms. */
function isOutdated(meter: PlanMeter, plan: PlanSettings): boolean {
  const present = planTerms(plan, meter);
  const limits = (windows: readonly { length: string; limit: Nano }[]) =>
    windows.map(({ length, limit }) => `${length} ${limit}`).join();
  return limits(meter.windows) !== limits(present.windows) || meter.groups?.join() !== present.groups?.join();
}

/** The event of new terms; null if there is none. Neither plan has ended. */
export function planEvent(
  account: number,
  before: PlanTerms | null,
  after: PlanTerms | null,
  atMs: number,
): NewEvent | null {
  const told = { atMs, account, dedupe: null };
  const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  if (after === null) return before && endedEvent(account, before, atMs);
  const plan = after.name;
  if (before === null) return { ...told, type: 'plan.started', data: { plan, ends_at: time(after.endsAtMs) } };
  if (before.name !== plan) return { ...told, type: 'plan.changed', data: { plan, former: before.name } };
  const paidUntil = time(after.paidUntilMs);
  if (paidUntil === null || after.paidUntilMs === before.paidUntilMs) return null;
  return { ...told, type: 'plan.renewed', data: { plan, paid_until: paidUntil } };
}

/** Once for each time that a plan was given or bought: changes keep its anchor. */
export function endedEvent(account: number, { name, anchorMs }: PlanTerms, atMs: number): NewEvent {
  return { atMs, account, type: 'plan.ended', data: { plan: name }, dedupe: `plan.ended:${account}:${anchorMs}` };
}

interface UpdateParts {
  ledger: Pick<LedgerGate, 'submit'> & Pick<LedgerReader, 'listPlans'>;
  plans(): ReadonlyMap<string, PlanSettings>;
  /** Called for each account whose plan was changed. */
  changed(account: number): void;
}

/** Gives all accounts the windows and groups that their plans have now; returns how many. What is used stays used. */
export async function updatePlans({ ledger, plans, changed }: UpdateParts, signal?: AbortSignal): Promise<number> {
  let count = 0;
  for (let after: number | null = 0; after !== null && signal?.aborted !== true; ) {
    const page: Awaited<ReturnType<LedgerReader['listPlans']>> = await ledger.listPlans({
      after,
      limit: bounds.rowsAtOnce,
    });
    for (const { account, plan: meter } of page.plans) {
      const plan = plans().get(meter.name);
      if (plan === undefined || !isOutdated(meter, plan)) continue;
      const { windows, groups } = planTerms(plan, meter);
      // Refused if the account has another plan by now.
      await ledger.submit({
        operations: [{ kind: 'change-plan', account, name: plan.name, changes: { windows, groups } }],
      });
      changed(account);
      count++;
    }
    after = page.last;
  }
  return count;
}
