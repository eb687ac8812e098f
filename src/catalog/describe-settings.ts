// Every setting of the service in words, with its bounds, its default and what is in force: what docs/configuration.md
// says of them, held equal to it by a test.

import { z } from 'zod';
import { assert } from '../base/assert.ts';
import type { JsonValue } from '../wire/wire.ts';
import { settingsFrom } from './build-catalogue.ts';
import { type SettingsInput, settingsInput, storedSettings } from './document.ts';
import type { Settings } from './model.ts';
import type { CatalogDocument } from './store.ts';

type SettingName = keyof SettingsInput;

export interface SettingDescription {
  name: SettingName;
  /** In force, as a file would have it. */
  value: JsonValue;
  /** In force where nobody says anything of it. */
  default: JsonValue;
  /** Who said it; null where the default is in force. */
  origin: CatalogDocument['origin'] | null;
  description: string;
  kind: 'integer' | 'boolean' | 'text' | 'texts';
  /** Of whole numbers. */
  least: number | null;
  most: number | null;
  /** Whether it may be null, which its description gives a meaning. */
  nullable: boolean;
}

/** In the order of docs/configuration.md, whose words they are. */
export const settingDescriptions: Readonly<Record<SettingName, string>> = {
  vendor_prefixes:
    'the prefixes of header names that are accepted, as in `<prefix>-version`, `<prefix>-beta`, `<prefix>-dangerous-direct-browser-access`',
  output_tranche_tokens: 'the output tokens that a stream holds ahead, and by which its hold grows, see ledger.md',
  output_floor_tokens: 'the output tokens that must be payable for a stream to begin',
  drain_seconds: 'how long running messages may take to end after SIGTERM',
  drain_notice_seconds:
    'how long after SIGTERM new messages are still taken while `GET /readyz` says 503 already: behind a load balancer that asks it, longer than that takes to notice, so that none is refused; at most 600',
  body_bytes_max: 'the largest body; 32 MiB is also the most',
  require_browser_header: 'messages from browsers must carry `<prefix>-dangerous-direct-browser-access: true`',
  upstream_connect_seconds: 'how long it may take until an upstream is connected, at most 600',
  upstream_first_event_seconds: 'how long it may take until the first event of a stream',
  upstream_silence_seconds: 'how long an upstream may be without progress between two events; its pings are none',
  upstream_stream_seconds: 'how long the whole of one stream may take',
  upstream_answer_seconds: 'how long an answer that is not streamed may take',
  attempts_seconds: 'after so long no further route is tried',
  circuit_failures: 'after how many failures in a row a route is tried after all others, for a while; `null`: never',
  finish_without_caller_seconds: 'how long an answer is awaited whose caller has left',
  finish_streams_without_caller_max:
    'how many streams at once are read to their end though their callers have left, for an exact bill; the others are stopped and billed as received',
  settle_wait_seconds:
    'how long the end of a message, or a stream that used up what it holds, waits for a ledger that does not answer',
  admin_listen:
    '`"ADDRESS:PORT"` on which alone the admin API answers, see operating.md; `null`: where messages are answered',
  shed_loop_delay_ms: 'messages are shed while the event loop runs later than this, see operating.md',
  shed_body_bytes: 'how many bytes of bodies are held at once; at least `body_bytes_max`',
  shed_open_messages: 'how many messages are under way at once: streams, and all others whose answer is not at its end',
  usage_retention_days:
    'for how many days beside the present one usage records are kept, at least 2, see operating.md; `null`: for ever',
  journal_retention_months:
    'how many months of the journal are kept beside the present one, at least 2 and as long as `usage_retention_days`, which it needs; `null`: all',
};

/** Every setting, and what these documents say of it. */
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
  const schema = schemas[name] ?? { type: 'array' }; // vendor_prefixes stand beside the settings
  const types = (schema.anyOf ?? [schema]).flatMap(({ type }) => type ?? []);
  const { minimum = null, maximum = null } = schema.anyOf?.find((one) => one.type !== 'null') ?? schema;
  const kind = kinds[types.find((type) => type !== 'null') ?? ''];
  assert(kind !== undefined, `the setting ${name} is of no kind that is known`);
  return { kind, least: minimum, most: maximum, nullable: types.includes('null') };
}
