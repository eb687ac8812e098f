// The columns of rows as they are read. Whole numbers come as floating ones, which are exact up to 2^53: the driver gives the
// database's own as texts. A statement that orders by such a column names its table, or it would order by what it gives.

/** Columns of whole numbers of the table or alias `of`, under their own names. */
export function asNumbers(of: string, ...names: readonly string[]): string {
  return names.map((name) => `${of}.${name}::float8 AS ${name}`).join(', ');
}

/** As AccountMetersTable. */
export const ACCOUNT_COLUMNS = `${asNumbers(
  'm',
  'id',
  'credit_line',
  'balance',
  'held',
  'allowance',
  'allowance_used',
  'allowance_held',
  'allowance_period_start_ms',
  'month_start_ms',
  'month_opening',
)}, m.enabled::int AS enabled, m.allowance_period, m.group_rates`;

/** As KeyMetersTable. */
export const KEY_COLUMNS = `${asNumbers(
  'm',
  'id',
  'account_id',
  'expires_at_ms',
  'quota',
  'quota_used',
  'quota_held',
  'quota_period_start_ms',
  'last_used_at_ms',
)}, m.status, m.quota_period, m.limits, m.rates`;

/** As UsageTable. */
export const USAGE_COLUMNS = `${asNumbers(
  'r',
  'seq',
  'at_ms',
  'account_id',
  'key_id',
  'status',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'web_searches',
  'cost',
  'written_off',
  'provider_cost',
)}, r.request_id, r.ended_by, r.group_name, r.model, r.outcome, r.details`;
