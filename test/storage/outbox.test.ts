// Events and deliveries on SQLite.

import { describe } from 'bun:test';
import { openSqlite } from './open-sqlite.ts';
import { outboxConformance } from './outbox-conformance.ts';

describe('the outbox in SQLite', () => outboxConformance(openSqlite));
