// All settings: what each accepts, its default and its description. Types, schemas, defaults and lists of settings derive from this table.

import { z } from 'zod';
import { parseListenAddress } from '../base/addresses.ts';
import { leastDaysOf } from '../base/clock.ts';
import { parseId } from '../base/ids.ts';
import { type CamelCase, camelCase } from '../base/member-names.ts';
import { type Nano, parseUsd } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import { LIST_ENTRIES_MAX, multiplier, plainName } from './document.ts';
import { installationMembers, landingLinks } from './installation.ts';
import { hideables } from './visibility.ts';

const SECONDS_MAX = 86_400;
const SHED_BODY_BYTES_MAX = 2 ** 40;
const FILE_BYTES_MAX = 5 * 1024 ** 3;
const FILES_BYTES_MAX = 2 ** 50;

export const vendorPrefixes = z
  .array(
    z
      .string()
      .regex(/^[a-z][a-z0-9-]{0,31}$/, 'must have at most 32 characters of a-z, 0-9 and "-", and start with a letter'),
  )
  .min(1)
  .max(16)
  .refine((prefixes) => new Set(prefixes).size === prefixes.length, 'must not contain a prefix twice');
const domain = z
  .string()
  .regex(
    /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/,
    'must be a domain in lower case, such as "example.com"',
  );
const MAIL_DOMAIN = /^[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?(?:\.[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?)*$/u;
const MAIL_DOMAINS_MAX = 20_000; // public lists of disposable mailboxes have some thousands
const mailDomains = z
  .array(
    z
      .string()
      .max(253)
      .regex(MAIL_DOMAIN, 'must be a domain, such as "example.com", or a top-level domain, such as "zip"'),
  )
  .max(MAIL_DOMAINS_MAX)
  .refine((domains) => new Set(domains).size === domains.length, 'must not contain a domain twice');
/** Whole cents, and as much as a payment provider takes at once. */
const rechargeAmount = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,5})(?:\.\d{2})?$/, 'must be an amount in USD in whole cents, such as "25" or "25.50"')
  .refine((text) => nanoOf(text) >= RECHARGE_LEAST, 'must be at least 0.50');
const rechargeAmounts = z.array(rechargeAmount).min(1, 'must not be empty').max(LIST_ENTRIES_MAX);
const bonusTiers = z
  .array(
    z
      .string()
      .regex(
        /^(?:0|[1-9]\d{0,5})(?:\.\d{2})?: (?:100|[1-9]?\d(?:\.\d{1,2})?)%$/,
        'must be an amount in USD and a percentage of at most 100, such as "100: 5%"',
      ),
  )
  .max(LIST_ENTRIES_MAX)
  .refine((tiers) => new Set(tiers.map((tier) => nanoOf(tier.split(':')[0] ?? ''))).size === tiers.length, {
    error: 'must not contain an amount twice',
  });
const rechargeGroups = z
  .array(
    z
      .string()
      .regex(
        /^(?:0|[1-9]\d{0,5})(?:\.\d{2})?: [A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
        'must be an amount in USD and the name of a group, such as "100: pro"',
      ),
  )
  .max(LIST_ENTRIES_MAX)
  .refine((steps) => new Set(steps.map((step) => nanoOf(step.split(':')[0] ?? ''))).size === steps.length, {
    error: 'must not contain an amount twice',
  });
const amountText = z
  .string()
  .regex(
    /^(?:0|[1-9]\d{0,5})(?:\.\d{1,9})?$/,
    'must be an amount in USD as a decimal string below 1000000, such as "5.00"',
  );
const RECHARGE_LEAST = 500_000_000; // the least that Stripe charges
const tagNames = z
  .array(
    z
      .string()
      .regex(/^[a-z][a-z0-9_-]*$/, 'must begin with a-z and have a-z, 0-9, "_" and "-"')
      .max(bounds.tagNameCharactersMax),
  )
  .max(bounds.tagNamesMax)
  .refine((names) => new Set(names).size === names.length, 'must not contain a name twice');
const accountIds = z
  .array(z.string().refine((text) => parseId('acct', text) !== null, 'must be the id of an account, "acct_…"'))
  .max(bounds.accountsInMetricsMax)
  .refine((ids) => new Set(ids).size === ids.length, 'must not contain an account twice');
const integer = (least: number, most: number) => z.int().min(least).max(most);
const seconds = integer(1, SECONDS_MAX);
const lifetimeHours = integer(1, 8_760);
const graceHours = z
  .int()
  .min(2, 'must be at least 2: Stripe charges a renewal about an hour after the period')
  .max(720);
const listenAddress = z
  .string()
  .refine((text) => parseListenAddress(text) !== null, 'must be ADDRESS:PORT such as "127.0.0.1:8081"');
const noticeText = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must be one line of text');
const hiddenThings = z
  .array(oneOf(...hideables))
  .max(hideables.length)
  .refine((things) => new Set(things).size === things.length, 'must not contain a word twice');
const publicKey = z.string().regex(/^[A-Za-z0-9+/]{43}=$/, 'must be an Ed25519 public key: the base64 of its 32 bytes');

function oneOf<const Words extends readonly [string, ...string[]]>(...words: Words) {
  const quoted = words.map((word) => `"${word}"`);
  return z.enum(words, `must be ${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`);
}

/** The description, which may stand behind it, is that of docs/configuration.md. */
function setting<Schema extends z.ZodType>(schema: Schema, byDefault: z.output<Schema>): z.ZodDefault<Schema> {
  return z._default(schema, byDefault as never);
}

/** In the order and words of docs/configuration.md; a test compares them. */
export const SETTINGS = {
  vendor_prefixes: setting(vendorPrefixes, ['vendor', 'anthropic']).describe(
    'accepted prefixes of header names, as in `<prefix>-version`, `<prefix>-beta`, `<prefix>-dangerous-direct-browser-access`',
  ),
  installation_name: setting(installationMembers.installation_name, 'Turnpike').describe(
    'name of the installation, in the console and in the last line of mails, whose subject and text name the host',
  ),
  installation_logo: setting(installationMembers.installation_logo, null).describe(
    'logo in the console, `data:image/png;base64,…` or `data:image/svg+xml;base64,…`, at most 32 KiB; `null`: that of Turnpike',
  ),
  support_address: setting(installationMembers.support_address, null).describe(
    'email address or `https://` URL for questions, shown in the console and in mails; `null`: no address is shown',
  ),
  recharge_instructions: setting(installationMembers.recharge_instructions, null).describe(
    'how an account gets credit, shown on its billing page while no payments are taken; `null`: nothing is shown',
  ),
  terms_version: setting(installationMembers.terms_version, null).describe(
    'version of the terms that people must agree to at sign-up, and again when it changes, see operating.md; requires `terms_of_service` or `privacy_policy`; `null`: nobody has to agree',
  ),
  terms_of_service: setting(installationMembers.terms_of_service, null).describe(
    'terms of service, a text in Markdown or an `https://` URL; `null`: none',
  ),
  privacy_policy: setting(installationMembers.privacy_policy, null).describe(
    'privacy policy, a text in Markdown or an `https://` URL; `null`: none',
  ),
  landing_title: setting(installationMembers.landing_title, null).describe(
    'title of the page at the address of the service for people who are not signed in; `null`: they see the sign-in page, see operating.md',
  ),
  landing_text: setting(installationMembers.landing_text, null).describe('text of this page in Markdown; `null`: none'),
  landing_links: setting(landingLinks, []).describe(
    'links of this page, such as `"Documentation: https://example.com/docs"`, at most 10',
  ),
  public_models: setting(oneOf('off', 'on'), 'off').describe(
    '`on`: everyone can read the models and prices of `public_group`, see operating.md',
  ),
  public_status: setting(oneOf('off', 'on'), 'off').describe(
    '`on`: everyone can read which models of `public_group` fail or failed in the last 90 days, see operating.md',
  ),
  public_group: setting(plainName, 'default').describe('group whose models and prices public pages have'),
  hidden_from_accounts: setting(hiddenThings, []).describe(
    'what people, tokens and keys of accounts do not see: any of `provider`, `upstream_model`, `group` and `multiplier`, see admin-api.md; an empty list: they see all of it',
  ),
  output_tranche_tokens: setting(integer(16, 1_000_000), 2_048).describe(
    'output tokens that a stream holds in advance; its hold grows in steps of this size, see ledger.md',
  ),
  output_floor_tokens: setting(integer(1, 1_000_000), 256).describe(
    'output tokens that the client must be able to pay for before a stream starts',
  ),
  drain_seconds: setting(integer(0, SECONDS_MAX), 600).describe(
    'time that running messages have to finish after SIGTERM',
  ),
  drain_notice_seconds: setting(integer(0, 600), 0).describe(
    'time after SIGTERM in which new messages are still accepted although `GET /readyz` already returns 503; behind a load balancer, longer than it needs to notice; at most 600',
  ),
  body_bytes_max: setting(integer(1_024, bounds.bodyBytesMax), bounds.bodyBytesMax).describe(
    'largest request body; at most 32 MiB',
  ),
  require_browser_header: setting(z.boolean(), false).describe(
    'whether messages from browsers must have the header `<prefix>-dangerous-direct-browser-access: true`',
  ),
  error_statuses: setting(oneOf('turnpike', 'vendor'), 'turnpike').describe(
    "`turnpike`: an unknown model and an empty balance are 400; `vendor`: 404 and 402, for clients that read the vendor's statuses",
  ),
  upstream_connect_seconds: setting(integer(1, 600), 10).describe(
    'time limit for connecting to an upstream; at most 600',
  ),
  upstream_first_event_seconds: setting(seconds, 300).describe('time limit for the first event of a stream'),
  upstream_silence_seconds: setting(seconds, 300).describe(
    'time limit between two events of a stream; pings do not count',
  ),
  upstream_stream_seconds: setting(seconds, 3_600).describe(
    'time limit for a whole stream; time spent waiting for the client does not count',
  ),
  upstream_answer_seconds: setting(seconds, 600).describe('time limit for an answer that is not streamed'),
  attempts_seconds: setting(seconds, 600).describe('time after which no further route is tried'),
  circuit_failures: setting(integer(1, 1_000_000).nullable(), 5).describe(
    'consecutive failures after which a route is tried only after all others, for a while; `null`: never',
  ),
  finish_without_caller_seconds: setting(seconds, 600).describe(
    'time to wait for the rest of an answer after its client has disconnected',
  ),
  finish_streams_without_caller_max: setting(integer(0, 100_000), 0).describe(
    'largest number of streams that are read to their end after their clients have disconnected, for an exact bill; further streams are stopped and billed as received',
  ),
  settle_wait_seconds: setting(integer(1, 600), 30).describe(
    'time that a message waits for a ledger that does not respond, at its end or when a stream needs a larger hold',
  ),
  reversals_per_account_day: setting(amountText, '10.00').describe(
    'largest amount in USD that reversals of failed attempts return to an account in a day (UTC); attempts that do not fit stay charged; "0": none',
  ),
  admin_listen: setting(listenAddress.nullable(), null).describe(
    '`"ADDRESS:PORT"` of a separate listener for the admin API, see operating.md; `null`: it shares the listener of messages',
  ),
  shed_loop_delay_ms: setting(integer(20, 60_000), 500).describe(
    'delay of the event loop above which messages are shed, see operating.md',
  ),
  shed_body_bytes: setting(integer(1_024, SHED_BODY_BYTES_MAX), 256 * 1024 * 1024).describe(
    'largest total size of request bodies in memory; at least `body_bytes_max`',
  ),
  shed_open_messages: setting(integer(1, 1_000_000), 20_000).describe('largest number of messages in progress'),
  file_bytes_max: setting(integer(1, FILE_BYTES_MAX), 512 * 1024 * 1024).describe(
    'largest size of one file that a client uploads, see files.md',
  ),
  files_bytes_max: setting(integer(0, FILES_BYTES_MAX), 10 * 1024 * 1024 * 1024).describe(
    'bytes of files that an account may store, a company with all of its accounts, see files.md',
  ),
  files_max: setting(integer(0, 1_000_000), 10_000).describe('number of files that an account may store, see files.md'),
  batch_multiplier: setting(multiplier, '1').describe(
    'multiplier of the price of requests of batches, besides that of the group, such as "0.5", see batches.md',
  ),
  batch_messages_max: setting(integer(0, 1_000), 16).describe(
    'largest number of requests of batches that run at once; 0: batches wait, see batches.md',
  ),
  usage_retention_days: setting(integer(2, 36_500).nullable(), null).describe(
    'days before today for which usage records are kept, at least 2, see operating.md; `null`: forever',
  ),
  journal_retention_months: setting(integer(2, 1_200).nullable(), null).describe(
    'months before the current month for which the journal is kept, at least 2, and at least as long as `usage_retention_days`, which must be set; `null`: forever',
  ),
  event_retention_days: setting(integer(7, 3_650), 30).describe(
    'days for which events and their deliveries are kept, at least 7, see events.md',
  ),
  webhook_private_network: setting(oneOf('off', 'operators', 'everyone'), 'off').describe(
    'whether webhooks may be sent to private addresses and without TLS: `off`, `operators` (only theirs) or `everyone`, see events.md',
  ),
  tags_required: setting(tagNames, []).describe('names of tags without which a message is refused, see attribution.md'),
  tags_pinned: setting(tagNames, []).describe(
    'names of tags that only accounts, people and keys have: what clients send under these names is ignored, see attribution.md',
  ),
  tags_in_totals: setting(tagNames.nullable(), null).describe(
    'names of the tags that usage totals distinguish; `null`: those of accounts, people, keys and the header, see attribution.md',
  ),
  tags_in_metrics: setting(tagNames, []).describe(
    'names of tags that are labels of the metrics of messages, see attribution.md',
  ),
  accounts_in_metrics: setting(accountIds, []).describe(
    `ids of accounts that have metrics of their own, at most ${bounds.accountsInMetricsMax}, see operating.md`,
  ),
  top_accounts_in_metrics: setting(integer(0, bounds.accountsInMetricsMax), 0).describe(
    `number of further accounts with metrics: those with the highest cost of the last days, at most ${bounds.accountsInMetricsMax}, see operating.md`,
  ),
  price_list_key: setting(publicKey.nullable(), null).describe(
    'Ed25519 public key of the publisher of price lists, the base64 of its 32 bytes, for `turnpike catalogue update --from URL`; `null`: lists from a URL are refused',
  ),
  second_factor_required: setting(oneOf('nobody', 'operators', 'everyone'), 'nobody').describe(
    'whether people need a second factor to sign in with a password: `nobody`, `operators` (operators and viewers) or `everyone`, see operating.md',
  ),
  session_lifetime_hours: setting(lifetimeHours, 720).describe(
    'hours after which people of accounts must sign in again, however much they use a session; at most 8760',
  ),
  operator_session_lifetime_hours: setting(lifetimeHours, 24).describe('the same for operators and viewers'),
  agent_sign_in: setting(oneOf('off', 'on'), 'off').describe(
    '`on`: people of accounts can sign in with coding agents such as Claude Code, see coding-agents.md',
  ),
  agent_sign_in_days: setting(integer(1, 3_650), 90).describe(
    'days after which a person must sign in again with a coding agent, however much it is used',
  ),
  agent_token_minutes: setting(integer(10, 1_440), 60).describe(
    'minutes for which an access token of a coding agent is valid before it is refreshed; at least 10',
  ),
  agent_notice: setting(noticeText.nullable(), null).describe(
    'text that a coding agent shows before a person signs in, at most 500 characters; `null`: none',
  ),
  sign_up: setting(oneOf('off', 'on'), 'off').describe(
    '`on`: people can create an account with an email that they confirm, see operating.md; requires a mail server',
  ),
  sign_up_domains: setting(z.array(domain).max(LIST_ENTRIES_MAX), []).describe(
    'domains of the emails that can sign up; an empty list: any',
  ),
  email_domains_denied: setting(mailDomains, []).describe(
    'domains, with all below them, whose emails can neither sign up, nor be invited by accounts, nor become people at their first sign-in with OpenID Connect, such as those of disposable mailboxes, see operating.md',
  ),
  email_domains_allowed: setting(mailDomains, []).describe('exceptions from `email_domains_denied`'),
  sign_up_group: setting(plainName, 'default').describe(
    'group of the accounts that sign-ups create; without it, sign-up is off',
  ),
  sign_up_credit: setting(amountText, '0').describe(
    'credit in USD of such an account, given once per mailbox, as a promotion',
  ),
  sign_ups_per_day_max: setting(integer(1, 1_000_000), 100).describe(
    'largest number of accounts that sign-ups create in 24 hours',
  ),
  recharge_amounts: setting(rechargeAmounts, ['10', '25', '50', '100']).describe(
    'amounts in USD that the console offers for a recharge',
  ),
  recharge_min: setting(rechargeAmount, '5').describe(
    'least amount in USD of a recharge, in whole cents; at least 0.50',
  ),
  recharge_max: setting(rechargeAmount, '1000').describe('largest amount in USD of a recharge, in whole cents'),
  recharge_groups: setting(rechargeGroups, []).describe(
    'group that a paid recharge adds to its account, by the least amount in USD, such as `"100: pro"`: that of the highest step that the amount reaches, see payments.md; an empty list: none',
  ),
  recharge_bonus: setting(bonusTiers, []).describe(
    'bonus in percent by the least amount of a recharge in USD, such as `"100: 5%"`: the highest step that the amount reaches, see payments.md; an empty list: none',
  ),
  auto_recharges_per_day_max: setting(integer(0, 1_000), 5).describe(
    'largest number of automatic recharges of an account in a day (UTC); 0: none',
  ),
  stripe_automatic_tax: setting(z.boolean(), false).describe(
    'whether Stripe Tax computes taxes on payments, see operating.md',
  ),
  plan_grace_hours: setting(graceHours, 72).describe(
    'hours for which a plan lasts after its paid period while its renewal is not paid, see payments.md',
  ),
  provider_bill_difference_percent: setting(integer(0, 100), 2).describe(
    "percentage of a day's bill above which its difference to the recorded costs is an event, see provider-bills.md; both thresholds must be exceeded",
  ),
  provider_bill_difference_usd: setting(amountText, '1.00').describe(
    'amount in USD above which the difference of a day is an event',
  ),
};

type Table = typeof SETTINGS;
export type SettingName = keyof Table;
type Members = { [Name in SettingName]: ReturnType<Table[Name]['unwrap']> };
type Immutable<Value> = Value extends (infer Member)[] ? readonly Member[] : Value;

/** Settings of the service: "drain_seconds" is drainSeconds here. */
export type Settings = { [Name in SettingName as CamelCase<Name>]: Immutable<z.output<Members[Name]>> };
export type SettingsInput = z.output<typeof storedSettings>;

const { vendor_prefixes, ...members } = Object.fromEntries(
  Object.entries(SETTINGS).map(([name, schema]) => [name, schema.unwrap()]),
) as Members;
export const storedSettings = z.strictObject({ vendor_prefixes, ...members }).partial();
/** The section `settings` of a file, where `vendor_prefixes` stand beside it. */
export const settingsInput = z
  .strictObject(members)
  .partial()
  .refine((settings) => (settings.shed_body_bytes ?? SHED_BODY_BYTES_MAX) >= bodyBytesMaxOf(settings), {
    path: ['shed_body_bytes'],
    error: (issue) =>
      `must be at least body_bytes_max, ${bodyBytesMaxOf(issue.input as SettingsInput)}: a body of that size would always be shed`,
  })
  .refine(
    ({ recharge_min: least, recharge_max: most }) => least == null || most == null || nanoOf(least) <= nanoOf(most),
    {
      path: ['recharge_max'],
      error: 'must be at least recharge_min',
    },
  )
  .refine(
    ({ terms_version: version, terms_of_service: terms, privacy_policy: policy }) =>
      version == null || terms != null || policy != null,
    { path: ['terms_version'], error: 'requires terms_of_service or privacy_policy' },
  )
  .refine(isJournalKeptWithUsage, {
    path: ['journal_retention_months'],
    error: (issue) => {
      const { usage_retention_days: days } = issue.input as SettingsInput;
      const why = 'a month whose usage records are kept cannot be dropped';
      return days == null
        ? `requires usage_retention_days: ${why}`
        : `is too low for usage_retention_days, ${days}: ${why}`;
    },
  });

/** The settings in force, with defaults filled in. */
export function settingsFrom(stored: SettingsInput): Settings {
  // A silence timeout without a first-event timeout applies to both.
  const given: Record<string, unknown> = { upstream_first_event_seconds: stored.upstream_silence_seconds, ...stored };
  const inForce = Object.entries(SETTINGS).map(([name, schema]) => {
    const value = given[name] === undefined ? schema.def.defaultValue : given[name];
    return [camelCase(name), Array.isArray(value) ? Object.freeze(value) : value];
  });
  return Object.freeze(Object.fromEntries(inForce));
}

export const DEFAULT_SETTINGS = settingsFrom({});

function isJournalKeptWithUsage({ usage_retention_days: days, journal_retention_months: months }: SettingsInput) {
  return months == null || (days != null && leastDaysOf(months) >= days);
}

function nanoOf(text: string): Nano {
  return parseUsd(text) ?? 0;
}

function bodyBytesMaxOf({ body_bytes_max }: SettingsInput): number {
  return body_bytes_max ?? bounds.bodyBytesMax;
}
