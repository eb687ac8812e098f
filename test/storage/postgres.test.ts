// The conformance suite on PostgreSQL with the lanes of a node; and with one lane, for tests that depend on the order
// of arrival or on large batches.

import { describe } from 'bun:test';
import { cannotStartPostgres } from '../support/start-postgres.ts';
import { admissionConformance } from './conformance/admission.ts';
import { bundleConformance } from './conformance/bundles.ts';
import { leaseConformance, leaseOrderConformance } from './conformance/leases.ts';
import { reconciliationConformance } from './conformance/reconciliation.ts';
import { openPostgres, openPostgresLanes } from './open-postgres.ts';
import { describeStore } from './store-conformance.ts';

describe.skipIf(cannotStartPostgres)('with lanes', () => {
  describeStore('PostgreSQL', openPostgresLanes, { followsClock: true, hasLanes: true });
});
describe.skipIf(cannotStartPostgres)('with one lane, the ledger in PostgreSQL', () => {
  describe('admits', () => admissionConformance(openPostgres));
  describe('applies bundles', () => bundleConformance(openPostgres));
  describe('keeps leases', () => leaseConformance(openPostgres));
  describe('keeps leases', () => leaseOrderConformance(openPostgres));
  describe('adds up to the nanodollar', () => reconciliationConformance(openPostgres));
});
