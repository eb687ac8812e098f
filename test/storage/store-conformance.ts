// What every store of the ledger must do, whatever it is made of: the same operations, the same
// answers, the same rows. Each test ends with a check of all invariants.

import { describe } from 'bun:test';
import type { OpenStores } from '../ledger/workbench.ts';
import { accessConformance } from './conformance/access.ts';
import { admissionConformance } from './conformance/admission.ts';
import { answerConformance } from './conformance/answers.ts';
import { bundleConformance } from './conformance/bundles.ts';
import { callerMetersConformance } from './conformance/caller-meters.ts';
import { claimAgeConformance, claimConformance } from './conformance/claims.ts';
import { creditConformance } from './conformance/credits.ts';
import { endingConformance } from './conformance/endings.ts';
import { journalConformance } from './conformance/journal.ts';
import { leaseConformance, leaseOrderConformance } from './conformance/leases.ts';
import { meterConformance } from './conformance/meters.ts';
import { monthConformance } from './conformance/months.ts';
import { peopleConformance } from './conformance/people.ts';
import { periodConformance } from './conformance/periods.ts';
import { rateConformance } from './conformance/rates.ts';
import { readConformance } from './conformance/reads.ts';
import { reconciliationConformance } from './conformance/reconciliation.ts';
import { refundConformance } from './conformance/refunds.ts';
import { reportConformance } from './conformance/reports.ts';
import { retentionConformance } from './conformance/retention.ts';
import { secretChangeConformance } from './conformance/secret-change.ts';
import { timelineConformance } from './conformance/timeline.ts';
import { writeOffConformance } from './conformance/write-offs.ts';

/**
 * Runs the suite. Without a clock of its own a store is spared the tests in which time passes; with lanes, that in which what was
 * asked first is done first although it is about something else.
 */
export function describeStore(
  name: string,
  open: OpenStores,
  options: { followsClock: boolean; hasLanes?: boolean },
): void {
  describe(`the ledger in ${name}`, () => {
    describe('admits', () => admissionConformance(open));
    describe('ends messages', () => endingConformance(open));
    describe('records', () => meterConformance(open));
    describe('writes off', () => writeOffConformance(open));
    describe('credits', () => creditConformance(open));
    describe('takes bundles', () => bundleConformance(open));
    describe('keeps', () => accessConformance(open));
    describe('keeps', () => peopleConformance(open));
    describe('keeps', () => answerConformance(open));
    describe('charges under a claim', () => claimConformance(open));
    describe('lists', () => journalConformance(open));
    describe('gives back', () => refundConformance(open));
    describe('keeps', () => secretChangeConformance(open));
    if (!options.followsClock) return;
    describe('bounds rates', () => rateConformance(open));
    describe('bounds periods', () => periodConformance(open));
    describe('keeps leases', () => leaseConformance(open));
    if (options.hasLanes !== true) describe('keeps leases', () => leaseOrderConformance(open));
    describe('charges under a claim', () => claimAgeConformance(open));
    describe('reads', () => readConformance(open));
    describe('reports', () => reportConformance(open));
    describe('reports', () => timelineConformance(open));
    describe('states', () => monthConformance(open));
    describe('reconciles', () => reconciliationConformance(open));
    describe('retains', () => retentionConformance(open));
    describe('shows a caller', () => callerMetersConformance(open));
  });
}
