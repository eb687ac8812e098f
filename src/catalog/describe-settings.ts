// Descriptions, bounds and defaults of all settings. A test holds docs/configuration.md equal to it.

import { z } from 'zod';
import { assert } from '../base/assert.ts';
import type { JsonValue } from '../wire/wire.ts';
import { settingsFrom } from './build-catalog.ts';
import { type SettingsInput, settingsInput, storedSettings } from './document.ts';
import type { Settings } from './model.ts';
import type { CatalogDocument } from './store.ts';

type SettingName = keyof SettingsInput;

export interface SettingDescription {
  name: SettingName;
  /** The value in force, in the form of a file. */
  value: JsonValue;
  default: JsonValue;
  /** The origin of the value; null for the default. */
  origin: CatalogDocument['origin'] | null;
  description: string;
  kind: 'integer' | 'boolean' | 'text' | 'texts';
  least: number | null;
  most: number | null;
  /** Whether it may be null; the description says what null means. */
  nullable: boolean;
}

/** In the order and words of docs/configuration.md. */
const settingDescriptions: Readonly<Record<SettingName, string>> = {
  vendor_prefixes:
    'accepted prefixes of header names, as in `<prefix>-version`, `<prefix>-beta`, `<prefix>-dangerous-direct-browser-access`',
  installation_name:
    'name of the installation, in the console and in the last line of mails, whose subject and text name the host',
  installation_logo:
    'logo in the console, `data:image/png;base64,…` or `data:image/svg+xml;base64,…`, at most 32 KiB; `null`: that of Turnpike',
  support_address:
    'email address or `https://` URL for questions, shown in the console and in mails; `null`: no address is shown',
  recharge_instructions:
    'how an account gets credit, shown on its billing page while no payments are taken; `null`: nothing is shown',
  output_tranche_tokens:
    'output tokens that a stream holds in advance; its hold grows in steps of this size, see ledger.md',
  output_floor_tokens: 'output tokens that the client must be able to pay for before a stream starts',
  drain_seconds: 'time that running messages have to finish after SIGTERM',
  drain_notice_seconds:
    'time after SIGTERM in which new messages are still accepted although `GET /readyz` already returns 503; behind a load balancer, longer than it needs to notice; at most 600',
  body_bytes_max: 'largest request body; at most 32 MiB',
  require_browser_header:
    'whether messages from browsers must have the header `<prefix>-dangerous-direct-browser-access: true`',
  error_statuses:
    "`turnpike`: an unknown model and an empty balance are 400; `vendor`: 404 and 402, for clients that read the vendor's statuses",
  upstream_connect_seconds: 'time limit for connecting to an upstream; at most 600',
  upstream_first_event_seconds: 'time limit for the first event of a stream',
  upstream_silence_seconds: 'time limit between two events of a stream; pings do not count',
  upstream_stream_seconds: 'time limit for a whole stream; time spent waiting for the client does not count',
  upstream_answer_seconds: 'time limit for an answer that is not streamed',
  attempts_seconds: 'time after which no further route is tried',
  circuit_failures:
    'consecutive failures after which a route is tried only after all others, for a while; `null`: never',
  finish_without_caller_seconds: 'time to wait for the rest of an answer after its client has disconnected',
  finish_streams_without_caller_max:
    'largest number of streams that are read to their end after their clients have disconnected, for an exact bill; further streams are stopped and billed as received',
  settle_wait_seconds:
    'time that a message waits for a ledger that does not respond, at its end or when a stream needs a larger hold',
  reversals_per_account_day:
    'largest amount in USD that reversals of failed attempts return to an account in a day (UTC); attempts that do not fit stay charged; "0": none',
  admin_listen:
    '`"ADDRESS:PORT"` of a separate listener for the admin API, see operating.md; `null`: it shares the listener of messages',
  shed_loop_delay_ms: 'delay of the event loop above which messages are shed, see operating.md',
  shed_body_bytes: 'largest total size of request bodies in memory; at least `body_bytes_max`',
  shed_open_messages: 'largest number of messages in progress',
  usage_retention_days:
    'days before today for which usage records are kept, at least 2, see operating.md; `null`: forever',
  journal_retention_months:
    'months before the current month for which the journal is kept, at least 2, and at least as long as `usage_retention_days`, which must be set; `null`: forever',
  event_retention_days: 'days for which events and their deliveries are kept, at least 7, see events.md',
  webhook_private_network:
    'whether webhooks may be sent to private addresses and without TLS: `off`, `operators` (only theirs) or `everyone`, see events.md',
  price_list_key:
    'Ed25519 public key of the publisher of price lists, the base64 of its 32 bytes, for `turnpike catalogue update --from URL`; `null`: lists from a URL are refused',
  second_factor_required:
    'whether people need a second factor to sign in with a password: `nobody`, `operators` (operators and viewers) or `everyone`, see operating.md',
  session_lifetime_hours:
    'hours after which people of accounts must sign in again, however much they use a session; at most 8760',
  operator_session_lifetime_hours: 'the same for operators and viewers',
  sign_up:
    '`on`: people can create an account with an email that they confirm, see operating.md; requires a mail server',
  sign_up_domains: 'domains of the emails that can sign up; an empty list: any',
  sign_up_group: 'group of the accounts that sign-ups create; without it, sign-up is off',
  sign_up_credit: 'credit in USD of such an account, given once per mailbox, as a promotion',
  sign_ups_per_day_max: 'largest number of accounts that sign-ups create in 24 hours',
  recharge_amounts: 'amounts in USD that the console offers for a recharge',
  recharge_min: 'least amount in USD of a recharge, in whole cents; at least 0.50',
  recharge_max: 'largest amount in USD of a recharge, in whole cents',
  auto_recharges_per_day_max: 'largest number of automatic recharges of an account in a day (UTC); 0: none',
  stripe_automatic_tax: 'whether Stripe Tax computes taxes on payments, see operating.md',
  plan_grace_hours: 'hours for which a plan lasts after its paid period while its renewal is not paid, see payments.md',
};

/** All settings, with the values of these documents. */
export function describeSettings(documents: readonly CatalogDocument[]): SettingDescription[] {
  const entry = documents.find(({ kind }) => kind === 'settings');
  const stored = storedSettings.parse(entry?.document ?? {});
  const inForce = settingsFrom(stored);
  return (Object.keys(settingDescriptions) as SettingName[]).map((name) => {
    const { [name]: given, ...others } = stored;
    return {
      name,
      value: valueIn(inForce, name),
      default: valueIn(settingsFrom(others), name),
      origin: given === undefined ? null : (entry?.origin ?? null),
      description: settingDescriptions[name],
      ...kindOf(name),
    };
  });
}

/** "drain_seconds" is drainSeconds there. */
function valueIn(settings: Settings, name: SettingName): JsonValue {
  const member = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) as keyof Settings;
  const value = settings[member];
  return typeof value === 'object' && value !== null ? [...value] : value;
}

interface SettingSchema {
  type?: string | string[];
  minimum?: number;
  maximum?: number;
  anyOf?: SettingSchema[];
}

const kinds: Readonly<Record<string, SettingDescription['kind']>> = {
  integer: 'integer',
  boolean: 'boolean',
  string: 'text',
  array: 'texts',
};
const schemas = z.toJSONSchema(settingsInput, { io: 'input' }).properties as Record<string, SettingSchema>;

function kindOf(name: SettingName): Pick<SettingDescription, 'kind' | 'least' | 'most' | 'nullable'> {
  const schema = schemas[name] ?? { type: 'array' }; // vendor_prefixes are beside the settings
  const types = (schema.anyOf ?? [schema]).flatMap(({ type }) => type ?? []);
  const { minimum = null, maximum = null } = schema.anyOf?.find((one) => one.type !== 'null') ?? schema;
  const kind = kinds[types.find((type) => type !== 'null') ?? ''];
  assert(kind !== undefined, `the setting ${name} has an unknown kind`);
  return { kind, least: minimum, most: maximum, nullable: types.includes('null') };
}
