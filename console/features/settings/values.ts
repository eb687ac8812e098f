// Names, sections and display forms of settings, and conversion to and from form fields. Pure.

import type { SettingShape } from '../../../src/admin-api/shapes.ts';
import { countOrNull } from '../models/form-values.ts';

const settingNames = {
  installation_name: 'Name',
  installation_logo: 'Logo',
  support_address: 'Support address',
  recharge_instructions: 'How to add credit',
  terms_version: 'Version of the terms',
  terms_of_service: 'Terms of service',
  privacy_policy: 'Privacy policy',
  landing_title: 'Landing page: title',
  landing_text: 'Landing page: text',
  landing_links: 'Landing page: links',
  public_models: 'Models and prices',
  public_status: 'Status',
  public_group: 'Group of public pages',
  vendor_prefixes: 'Accepted header prefixes',
  hidden_from_accounts: 'Hidden from accounts',
  output_tranche_tokens: 'Hold extension size',
  output_floor_tokens: 'Minimum output hold',
  drain_seconds: 'Drain timeout',
  drain_notice_seconds: 'Drain notice',
  body_bytes_max: 'Maximum request body',
  file_bytes_max: 'Maximum file',
  files_bytes_max: 'Maximum bytes of files per account',
  files_max: 'Maximum files per account',
  batch_multiplier: 'Multiplier of batches',
  batch_messages_max: 'Requests of batches at once',
  require_browser_header: 'Require the browser access header',
  error_statuses: 'Statuses of errors',
  upstream_connect_seconds: 'Connect timeout',
  upstream_first_event_seconds: 'First event timeout',
  upstream_silence_seconds: 'Stream idle timeout',
  upstream_stream_seconds: 'Maximum stream duration',
  upstream_answer_seconds: 'Response timeout without streaming',
  attempts_seconds: 'Time limit for all attempts',
  circuit_failures: 'Circuit breaker threshold',
  finish_without_caller_seconds: 'Time to finish after a client disconnects',
  finish_streams_without_caller_max: 'Streams to finish after clients disconnect',
  settle_wait_seconds: 'Settlement wait',
  reversals_per_account_day: 'Reversals per account and day in USD',
  admin_listen: 'Admin API address',
  shed_loop_delay_ms: 'Load shedding: event loop delay',
  shed_body_bytes: 'Load shedding: request bodies in memory',
  shed_open_messages: 'Load shedding: open requests',
  usage_retention_days: 'Usage record retention',
  journal_retention_months: 'Ledger retention',
  tags_required: 'Required tags',
  tags_pinned: 'Pinned tags',
  tags_in_totals: 'Tags in usage totals',
  tags_in_metrics: 'Tags in metrics',
  accounts_in_metrics: 'Accounts in metrics',
  top_accounts_in_metrics: 'Accounts in metrics by cost',
  price_list_key: 'Publisher key of price lists',
  event_retention_days: 'Event retention',
  webhook_private_network: 'Webhooks to private addresses',
  second_factor_required: 'Second factor required for',
  session_lifetime_hours: 'Session lifetime',
  operator_session_lifetime_hours: 'Session lifetime of operators',
  agent_sign_in: 'Coding agents: sign-in',
  agent_sign_in_days: 'Coding agents: time until the next sign-in',
  agent_token_minutes: 'Coding agents: lifetime of access tokens',
  agent_notice: 'Coding agents: notice',
  sign_up: 'Sign-up',
  sign_up_domains: 'Sign-up: email domains',
  email_domains_denied: 'Denied email domains',
  email_domains_allowed: 'Exceptions from denied email domains',
  sign_up_group: 'Sign-up: group',
  sign_up_credit: 'Sign-up: credit in USD',
  sign_ups_per_day_max: 'Sign-up: accounts a day',
  recharge_amounts: 'Recharge amounts to offer',
  recharge_min: 'Minimum recharge',
  recharge_max: 'Maximum recharge',
  recharge_groups: 'Groups of paying accounts',
  recharge_bonus: 'Recharge bonus',
  auto_recharges_per_day_max: 'Automatic recharges per day',
  stripe_automatic_tax: 'Taxes by Stripe Tax',
  plan_grace_hours: 'Grace period of unpaid plans',
  provider_bill_difference_percent: 'Reported difference in percent',
  provider_bill_difference_usd: 'Reported difference in USD',
} as Readonly<Record<string, string>>;

export const sectionTitles = {
  installation: 'Installation',
  customers: 'What accounts see',
  terms: 'Terms and consent',
  public: 'Public pages',
  signIn: 'Sign-in',
  people: 'Sign-up',
  payments: 'Payments',
  usage: 'Tags',
  bills: 'Provider bills',
  retention: 'Data retention',
  streams: 'Streaming and holds',
  upstream: 'Provider timeouts',
  load: 'Load limits',
  stop: 'Shutdown',
  address: 'Addresses and headers',
  prices: 'Price list',
  other: 'Other',
};

/** The sections of settings that most installations never change. */
export const advancedSections: readonly SettingSection[] = [
  'streams',
  'upstream',
  'load',
  'stop',
  'address',
  'prices',
  'other',
];

export const unitNames = {
  seconds: 'seconds',
  ms: 'milliseconds',
  bytes: 'bytes',
  tokens: 'tokens',
  minutes: 'minutes',
  hours: 'hours',
  days: 'days',
  months: 'months',
  requests: 'requests',
  streams: 'streams',
  failures: 'failures',
  recharges: 'recharges',
  files: 'files',
} as Record<string, string>;

/** The units of settings whose key does not end with one. */
const countedUnits = {
  circuit_failures: 'failures',
  finish_streams_without_caller_max: 'streams',
  shed_open_messages: 'requests',
  files_max: 'files',
  batch_messages_max: 'requests',
  auto_recharges_per_day_max: 'recharges',
} as Readonly<Record<string, string>>;

type Value = SettingShape['value'];
export type SettingSection = keyof typeof sectionTitles;

const sectionOf: Readonly<Record<string, SettingSection>> = {
  installation_name: 'installation',
  installation_logo: 'installation',
  support_address: 'installation',
  recharge_instructions: 'installation',
  terms_version: 'terms',
  terms_of_service: 'terms',
  privacy_policy: 'terms',
  landing_title: 'public',
  landing_text: 'public',
  landing_links: 'public',
  public_models: 'public',
  public_status: 'public',
  public_group: 'public',
  hidden_from_accounts: 'customers',
  vendor_prefixes: 'address',
  output_tranche_tokens: 'streams',
  output_floor_tokens: 'streams',
  drain_seconds: 'stop',
  drain_notice_seconds: 'stop',
  body_bytes_max: 'load',
  file_bytes_max: 'load',
  files_bytes_max: 'load',
  files_max: 'load',
  batch_multiplier: 'load',
  batch_messages_max: 'load',
  require_browser_header: 'address',
  error_statuses: 'address',
  upstream_connect_seconds: 'upstream',
  upstream_first_event_seconds: 'upstream',
  upstream_silence_seconds: 'upstream',
  upstream_stream_seconds: 'upstream',
  upstream_answer_seconds: 'upstream',
  attempts_seconds: 'upstream',
  circuit_failures: 'upstream',
  finish_without_caller_seconds: 'streams',
  finish_streams_without_caller_max: 'streams',
  settle_wait_seconds: 'streams',
  reversals_per_account_day: 'streams',
  admin_listen: 'address',
  shed_loop_delay_ms: 'load',
  shed_body_bytes: 'load',
  shed_open_messages: 'load',
  usage_retention_days: 'retention',
  journal_retention_months: 'retention',
  tags_required: 'usage',
  tags_pinned: 'usage',
  tags_in_totals: 'usage',
  tags_in_metrics: 'usage',
  accounts_in_metrics: 'usage',
  top_accounts_in_metrics: 'usage',
  price_list_key: 'prices',
  event_retention_days: 'retention',
  webhook_private_network: 'address',
  second_factor_required: 'signIn',
  session_lifetime_hours: 'signIn',
  operator_session_lifetime_hours: 'signIn',
  agent_sign_in: 'signIn',
  agent_sign_in_days: 'signIn',
  agent_token_minutes: 'signIn',
  agent_notice: 'signIn',
  sign_up: 'people',
  sign_up_domains: 'people',
  email_domains_denied: 'people',
  email_domains_allowed: 'people',
  sign_up_group: 'people',
  sign_up_credit: 'people',
  sign_ups_per_day_max: 'people',
  recharge_amounts: 'payments',
  recharge_min: 'payments',
  recharge_max: 'payments',
  recharge_groups: 'payments',
  recharge_bonus: 'payments',
  auto_recharges_per_day_max: 'payments',
  stripe_automatic_tax: 'payments',
  plan_grace_hours: 'payments',
  provider_bill_difference_percent: 'bills',
  provider_bill_difference_usd: 'bills',
};

/** Settings whose texts have several lines. */
const longTexts = ['recharge_instructions', 'terms_of_service', 'privacy_policy', 'landing_text'];

export function isLongText({ name }: Pick<SettingShape, 'name'>): boolean {
  return longTexts.includes(name);
}

/** A setting that is not in this list belongs to "Other". */
export function settingSection({ name }: Pick<SettingShape, 'name'>): SettingSection {
  return sectionOf[name] ?? 'other';
}

/** The display name of a setting, or its key. */
export function settingName({ name }: Pick<SettingShape, 'name'>): string {
  return settingNames[name] ?? name;
}

/** The page of docs/ that explains a setting beyond its description. */
export function settingPage({ description }: Pick<SettingShape, 'description'>): string {
  return `docs/${/, see ([\w-]+\.md)/.exec(description)?.[1] ?? 'configuration.md'}`;
}

/** Where the value comes from. */
export function settingOrigin(origin: NonNullable<SettingShape['origin']>): string {
  return origin === 'file' ? 'Set by turnpike apply' : 'Set in the console or API';
}

/** The description as a sentence, without backticks and the page that it refers to. */
export function settingText({ description }: Pick<SettingShape, 'description'>): string {
  const text = description
    .replaceAll('`', '')
    .replace(/, see [\w-]+\.md/g, '')
    .replace(/; null: (.+)$/, '. “None” means: $1')
    .replace(/\.?$/, '.');
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

/** "33,554,432 bytes (32 MiB)", "600 seconds (10 minutes)". */
export function shownSetting({ name }: Pick<SettingShape, 'name'>, value: Value): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'On' : 'Off';
  if (['sign_up', 'public_models', 'public_status'].includes(name)) return value === 'on' ? 'On' : 'Off';
  if (Array.isArray(value)) return value.length === 0 ? 'None' : value.join(', ');
  if (typeof value === 'string') return value.startsWith('data:image/') ? 'Image' : value;
  const unit = unitOf(name);
  const count = value.toLocaleString('en-US');
  const whole = unit === undefined ? count : `${count} ${unitNames[unit]}`;
  if (unit === 'bytes' && value >= MIB && value % MIB === 0)
    return `${whole} (${(value / MIB).toLocaleString('en-US')} MiB)`;
  return unit === 'seconds' && value > 60 && value % 60 === 0 ? `${whole} (${value / 60} minutes)` : whole;
}

const MIB = 1024 * 1024;

/** The unit in the key: "drain_seconds", "body_bytes_max". */
export function unitOf(name: string): string | undefined {
  if (name in countedUnits) return countedUnits[name];
  return name.split('_').findLast((part) => part in unitNames);
}

export function textOfSetting(value: Value): string {
  if (value === null) return '';
  return Array.isArray(value) ? value.join(', ') : String(value);
}

/** Parses a field for POST /apply, which reports invalid values. */
export function readSetting({ kind, nullable }: Pick<SettingShape, 'kind' | 'nullable'>, text: string): unknown {
  if (text.trim() === '' && nullable) return null;
  if (kind === 'integer') return countOrNull(text) ?? text;
  if (kind === 'boolean') return text === 'true';
  if (kind === 'text') return text.trim();
  return text
    .split(/[,\n]/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
