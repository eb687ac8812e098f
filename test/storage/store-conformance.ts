// Conformance suite of every ledger store: the same operations, the same answers, the same rows. Each test ends with
// a check of all invariants.

import { describe } from 'bun:test';
import type { OpenStores } from '../money/ledger/workbench.ts';
import { accessConformance } from './conformance/access.ts';
import { admissionConformance } from './conformance/admission.ts';
import { answerConformance } from './conformance/answers.ts';
import { batchConformance } from './conformance/batches.ts';
import { budgetWatchConformance } from './conformance/budget-watch.ts';
import { bundleConformance } from './conformance/bundles.ts';
import { callerMetersConformance } from './conformance/caller-meters.ts';
import { claimAgeConformance, claimConformance, reversalBoundConformance } from './conformance/claims.ts';
import { codeConformance } from './conformance/codes.ts';
import { companyExportConformance } from './conformance/company-exports.ts';
import { creditConformance } from './conformance/credits.ts';
import { endingConformance } from './conformance/endings.ts';
import { exportConformance } from './conformance/exports.ts';
import { fileConformance } from './conformance/files.ts';
import { incidentConformance } from './conformance/incidents.ts';
import { journalConformance } from './conformance/journal.ts';
import { leaseConformance, leaseOrderConformance } from './conformance/leases.ts';
import { mailConformance } from './conformance/mails.ts';
import { meterConformance } from './conformance/meters.ts';
import { monthConformance } from './conformance/months.ts';
import { paymentConformance } from './conformance/payments.ts';
import { peopleConformance } from './conformance/people.ts';
import { periodConformance } from './conformance/periods.ts';
import { debtConformance, planConformance, planTimeConformance } from './conformance/plans.ts';
import { billConformance } from './conformance/provider-bills.ts';
import { rankedAccountsConformance } from './conformance/ranked-accounts.ts';
import { rateConformance } from './conformance/rates.ts';
import { readConformance } from './conformance/reads.ts';
import { reconciliationConformance } from './conformance/reconciliation.ts';
import { refundConformance } from './conformance/refunds.ts';
import { reportConformance } from './conformance/reports.ts';
import { reserveConformance } from './conformance/reserves.ts';
import { retentionConformance } from './conformance/retention.ts';
import { sameNumberConformance } from './conformance/same-number.ts';
import { savedViewConformance } from './conformance/saved-views.ts';
import { scimConformance } from './conformance/scim.ts';
import { secretChangeConformance } from './conformance/secret-change.ts';
import { timelineConformance } from './conformance/timeline.ts';
import { trafficConformance } from './conformance/traffic.ts';
import { usageSearchConformance } from './conformance/usage-searches.ts';
import { writeOffConformance } from './conformance/write-offs.ts';

/**
 * Runs the suite. A store without a test clock skips the tests in which time passes; one with lanes skips those that
 * depend on the order of arrival across accounts.
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
    describe('keeps', () => debtConformance(open));
    describe('lets a plan pay', () => planConformance(open));
    describe('applies bundles', () => bundleConformance(open));
    describe('stores', () => accessConformance(open));
    describe('stores', () => {
      peopleConformance(open);
      scimConformance(open);
    });
    describe('stores', () => mailConformance(open));
    describe('stores', () => exportConformance(open));
    describe('stores', () => answerConformance(open));
    describe('stores', () => paymentConformance(open));
    describe('stores', () => codeConformance(open));
    describe('stores', () => billConformance(open));
    describe('saved views', () => savedViewConformance(open));
    describe('counts', () => trafficConformance(open));
    describe('keeps', () => incidentConformance(open));
    describe('keeps', () => fileConformance(open));
    describe('lists', () => batchConformance(open));
    describe('charges under an idempotency key', () => claimConformance(open));
    describe('sets aside', () => reserveConformance(open));
    describe('lists', () => journalConformance(open));
    describe('refunds', () => refundConformance(open));
    describe('ensures that', () => secretChangeConformance(open));
    if (!options.followsClock) return;
    describe('makes files of a company in which', () => companyExportConformance(open));
    describe('enforces rate limits', () => rateConformance(open));
    describe('enforces periods', () => periodConformance(open));
    describe('ensures that windows', () => planTimeConformance(open));
    describe('keeps leases', () => leaseConformance(open));
    if (options.hasLanes !== true) describe('keeps leases', () => leaseOrderConformance(open));
    describe('charges under an idempotency key', () => claimAgeConformance(open));
    describe('reverses', () => reversalBoundConformance(open));
    describe('reads', () => readConformance(open));
    describe('reports', () => reportConformance(open));
    describe('reports', () => timelineConformance(open));
    describe('reports', () => sameNumberConformance(open));
    describe('searches', () => usageSearchConformance(open));
    describe('reports by month that', () => monthConformance(open));
    describe('adds up to the nanodollar', () => reconciliationConformance(open));
    describe('retains', () => retentionConformance(open));
    describe('ranks', () => rankedAccountsConformance(open));
    describe('reports once', () => budgetWatchConformance(open));
    describe('returns to a key', () => callerMetersConformance(open));
  });
}
