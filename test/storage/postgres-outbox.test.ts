// Events and deliveries on PostgreSQL, with the lanes of a node.

import { describe } from 'bun:test';
import { cannotStartPostgres } from '../support/start-postgres.ts';
import { openPostgresLanes } from './open-postgres.ts';
import { outboxConformance } from './outbox-conformance.ts';

describe.skipIf(cannotStartPostgres)('the outbox in PostgreSQL', () => outboxConformance(openPostgresLanes));
