// The statements of the ledger's store, prepared once. Their texts keep to what SQLite and
// PostgreSQL both understand, with $1, $2 … for the values.

import type { Database, Statement } from 'bun:sqlite';

export type LedgerStatements = ReturnType<typeof prepareLedgerStatements>;

const USAGE_COLUMNS = `request_id, at_ms, account_id, key_id, ended_by, group_name, model, outcome, status,
  input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, web_searches,
  cost, written_off, provider_cost, details`;

/** Prepares all of them on one connection. */
export function prepareLedgerStatements(database: Database) {
  return { ...prepareReads(database), ...prepareMeterWrites(database), ...prepareRecordWrites(database) };
}

function prepareReads(database: Database) {
  return {
    begin: prepareText(database, 'BEGIN'),
    commit: prepareText(database, 'COMMIT'),
    rollback: prepareText(database, 'ROLLBACK'),
    readAccount: prepareText(database, 'SELECT * FROM account_meters WHERE id = $1'),
    readKey: prepareText(database, 'SELECT * FROM key_meters WHERE id = $1'),
    readUsage: prepareText(database, 'SELECT * FROM usage_records WHERE request_id = $1'),
    readHolds: prepareText(database, 'SELECT document FROM holds'),
    readLeases: prepareText(database, 'SELECT node, epoch, expires_at_ms FROM leases'),
    findCredit: prepareText(
      database,
      `SELECT CASE WHEN credit = account_id THEN amount ELSE -amount END AS change FROM entries
       WHERE account_id = $1 AND reference = $2
       AND kind <> 'usage' AND kind <> 'write_off' AND kind <> 'correction' AND kind <> 'refund'
       AND reference IS NOT NULL
       UNION ALL SELECT amount FROM carried_credits WHERE account_id = $1 AND reference = $2 LIMIT 1`,
    ),
    readClaim: prepareText(database, 'SELECT * FROM claims WHERE key_id = $1 AND name = $2'),
  };
}

function prepareMeterWrites(database: Database) {
  return {
    writeAccount: prepareText(
      database,
      `INSERT INTO account_meters (id, enabled, credit_line, balance, held, allowance, allowance_period,
         allowance_used, allowance_held, allowance_period_start_ms, group_rates, month_start_ms, month_opening)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
       ON CONFLICT (id) DO UPDATE SET enabled = excluded.enabled, credit_line = excluded.credit_line,
         balance = excluded.balance, held = excluded.held, allowance = excluded.allowance,
         allowance_period = excluded.allowance_period, allowance_used = excluded.allowance_used,
         allowance_held = excluded.allowance_held, allowance_period_start_ms = excluded.allowance_period_start_ms,
         group_rates = excluded.group_rates, month_start_ms = excluded.month_start_ms,
         month_opening = excluded.month_opening`,
    ),
    writeKey: prepareText(
      database,
      `INSERT INTO key_meters (id, account_id, status, expires_at_ms, quota, quota_period, quota_used, quota_held,
         quota_period_start_ms, limits, rates, last_used_at_ms)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
       ON CONFLICT (id) DO UPDATE SET status = excluded.status, expires_at_ms = excluded.expires_at_ms,
         quota = excluded.quota, quota_period = excluded.quota_period, quota_used = excluded.quota_used,
         quota_held = excluded.quota_held, quota_period_start_ms = excluded.quota_period_start_ms,
         limits = excluded.limits, rates = excluded.rates, last_used_at_ms = excluded.last_used_at_ms`,
    ),
    writeHold: prepareText(
      database,
      `INSERT INTO holds (request_id, account_id, key_id, amount, document) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (request_id) DO UPDATE SET amount = excluded.amount, document = excluded.document`,
    ),
    deleteHold: prepareText(database, 'DELETE FROM holds WHERE request_id = $1'),
    writeClaim: prepareText(
      database,
      `INSERT INTO claims (key_id, name, request_id, request_hash, at_ms, is_answered) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (key_id, name) DO UPDATE SET request_id = excluded.request_id,
         request_hash = excluded.request_hash, at_ms = excluded.at_ms, is_answered = excluded.is_answered`,
    ),
    writeLease: prepareText(
      database,
      `INSERT INTO leases (node, epoch, expires_at_ms) VALUES ($1, $2, $3)
       ON CONFLICT (node) DO UPDATE SET epoch = excluded.epoch, expires_at_ms = excluded.expires_at_ms`,
    ),
  };
}

function prepareRecordWrites(database: Database) {
  return {
    writeEntry: prepareText(
      database,
      `INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind, reference, note)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    ),
    writeUsage: prepareText(
      database,
      `INSERT INTO usage_records (${USAGE_COLUMNS})
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`,
    ),
    replaceUsage: prepareText(
      database,
      `UPDATE usage_records SET at_ms = $2, account_id = $3, key_id = $4, ended_by = $5, group_name = $6, model = $7,
         outcome = $8, status = $9, input_tokens = $10, output_tokens = $11, cache_read_tokens = $12,
         cache_write_5m_tokens = $13, cache_write_1h_tokens = $14, web_searches = $15, cost = $16, written_off = $17,
         provider_cost = $18, details = $19
       WHERE request_id = $1`,
    ),
    writeTotal: prepareText(
      database,
      `INSERT INTO daily_totals (day_ms, account_id, key_id, model, messages, input_tokens, output_tokens,
         cache_read_tokens, cache_write_tokens, cost, written_off, provider_cost, costed_messages, costed_revenue)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
       ON CONFLICT (day_ms, account_id, key_id, model) DO UPDATE SET messages = messages + excluded.messages,
         input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens,
         cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
         cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens, cost = cost + excluded.cost,
         written_off = written_off + excluded.written_off, provider_cost = provider_cost + excluded.provider_cost,
         costed_messages = costed_messages + excluded.costed_messages,
         costed_revenue = costed_revenue + excluded.costed_revenue`,
    ),
    addMonthChange: prepareText(
      database,
      `INSERT INTO month_changes (account_id, month_ms, change) VALUES ($1, $2, $3)
       ON CONFLICT (account_id, month_ms) DO UPDATE SET change = change + excluded.change`,
    ),
  };
}

/** Prepares a statement whose values are numbered $1, $2 …, in whatever order they appear in it. */
export function prepareText(database: Database, text: string): Statement {
  return database.prepare(text.replace(/\$(\d+)/g, '?$1'));
}
