// The conformance suite on PostgreSQL: behind one lane, and with the lanes of a node.

import { describe } from 'bun:test';
import { cannotStartPostgres } from '../support/start-postgres.ts';
import { openPostgres, openPostgresLanes } from './open-postgres.ts';
import { describeStore } from './store-conformance.ts';

describe.skipIf(cannotStartPostgres)('with one lane', () => {
  describeStore('PostgreSQL', openPostgres, { followsClock: true });
});
describe.skipIf(cannotStartPostgres)('with lanes', () => {
  describeStore('PostgreSQL', openPostgresLanes, { followsClock: true, hasLanes: true });
});
