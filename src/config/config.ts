// Every bound of the service by name, and the only reader of the environment. Settings that operators change while the
// service runs belong to the catalog (`settings:` of apply).

import { type ListenAddress, parseListenAddress, parseRange } from '../base/addresses.ts';
import { parseWholeNumber } from '../base/checked-number.ts';
import { type CredentialSettings, readCredentialSettings } from './credential-settings.ts';
import { FILES, type FilesPlace, readFilesPlace } from './files-settings.ts';
import { type MailSettings, readMail } from './mail-settings.ts';
import { readStripe, type StripeCredentials } from './payment-settings.ts';
import { issuerSettings, type OidcSettings, readIssuers, readPublicUrl } from './sign-in-settings.ts';
import { readAgentTelemetry, readTelemetry, type TelemetrySettings } from './telemetry-settings.ts';

export { bounds } from './bounds.ts';
export { type CredentialSettings, readCredentialSettings } from './credential-settings.ts';
export type { FilesPlace } from './files-settings.ts';
export { type IntegrationId, integrationIds, integrationSettings, placesOf } from './integrations.ts';
export { type MailSettings, readMailServer, SMTP_URL } from './mail-settings.ts';
export { STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET } from './payment-settings.ts';
export { issuerIds, type OidcSettings } from './sign-in-settings.ts';
export type { CollectorSettings, TelemetrySettings } from './telemetry-settings.ts';

/** The cost of one argon2id hash. */
export interface PasswordCost {
  memoryKib: number;
  rounds: number;
}

export const PASSWORD_COST: PasswordCost = { memoryKib: 19_456, rounds: 2 }; // 19 MiB, as OWASP recommends

export type LogFormat = 'json' | 'pretty' | 'off';

/** The settings of the process, parsed once and frozen. */
export interface Config {
  listen: ListenAddress;
  /** The address of the admin API; null: the setting `admin_listen` decides. */
  adminListen: ListenAddress | null;
  dataDirectory: string;
  /** postgres://…, with its password; null: SQLite in the data directory. */
  databaseUrl: string | null;
  /** How long a start waits for a database that cannot be used yet. */
  databaseWaitSeconds: number;
  secretBase64: string | null;
  /** The previous secret, which is still accepted. */
  previousSecretBase64: string | null;
  log: LogFormat;
  trustedProxies: readonly string[];
  /** For the commands: the address of the admin API and a token for it. */
  adminUrl: string | null;
  adminToken: string | null;
  providerKeys: { anthropic: string | null; openai: string | null; gemini: string | null };
  /** The origin at which people reach the service; null when it is not set. */
  publicUrl: string | null;
  /** The issuers of single sign-on; none: passwords only. */
  issuers: readonly OidcSettings[];
  /** The path of a file with authorities that issuers are trusted with, besides the public ones; null: none. */
  issuerCaFile: string | null;
  /** PASSWORD_COST: no setting changes it. */
  passwordCost: PasswordCost;
  /** The SMTP server and the sender of mails; null: no mail is sent. */
  mail: MailSettings | null;
  /** Stripe, which takes payments; null: none are taken. */
  stripe: StripeCredentials | null;
  /** The collector of traces and metrics; null: none. */
  telemetry: TelemetrySettings | null;
  /** The collector of what coding agents send; null: it is dropped. */
  agentTelemetry: { url: string; headers: Readonly<Record<string, string>> } | null;
  /** Faults of the telemetry variables. They stop `serve`, but no other command. */
  telemetryFaults: readonly string[];
  /** Limits of what credentials with `auth` read on this host. */
  credentials: CredentialSettings;
  /** Where files of clients are kept; null: files are not offered. */
  files: FilesPlace | null;
  /** Settings that were read from elsewhere: the reference to each, by the name of its variable. */
  references: Readonly<Record<string, string>>;
}

/** Variables whose value may be a reference to the text, in the form of `auth`, instead of the text. */
const referableSettings = [
  'DATABASE_URL',
  'SECRET',
  'PREVIOUS_SECRET',
  ...issuerSettings.filter((name) => name.endsWith('_CLIENT_SECRET')),
  'SMTP_URL',
  'STRIPE_SECRET_KEY',
  'STRIPE_WEBHOOK_SECRET',
  'FILES',
].map((name) => `TURNPIKE_${name}`);

type Environment = Readonly<Record<string, string | undefined>>;

/** The environment, and the references in it: JSON objects in place of a text. */
export interface ReferringEnvironment {
  environment: Environment;
  references: Readonly<Record<string, string>>;
}

export function findReferences(environment: Environment = process.env): ReferringEnvironment {
  const found = referableSettings.map((name) => [name, environment[name]?.trim() ?? ''] as const);
  return { environment, references: Object.fromEntries(found.filter(([, text]) => text.startsWith('{'))) };
}

/** Flags of `serve`, which take precedence over their variables. */
export interface ConfigFlags {
  listen?: string;
  adminListen?: string;
  data?: string;
  database?: string;
}

/** All faults of the settings together, each with its variable or flag. */
export class ConfigError extends Error {
  override name = 'ConfigError';
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.faults = faults;
  }
}

const KNOWN = [
  'LISTEN',
  'ADMIN_LISTEN',
  'DATA',
  'DATABASE_URL',
  'DATABASE_WAIT_SECONDS',
  'SECRET',
  'PREVIOUS_SECRET',
  'LOG',
  'TRUSTED_PROXIES',
  'URL',
  'TOKEN',
  'PUBLIC_URL',
  'OIDC_CA_FILE',
  ...issuerSettings,
  'SMTP_URL',
  'MAIL_FROM',
  'STRIPE_SECRET_KEY',
  'STRIPE_WEBHOOK_SECRET',
  'STRIPE_API_URL',
  'CREDENTIAL_DIRECTORIES',
  'CREDENTIAL_VARIABLES',
  'AGENT_OTLP_ENDPOINT',
  'AGENT_OTLP_HEADERS',
  'FILES',
].map((name) => `TURNPIKE_${name}`);

/** Without those of further issuers, whose names differ by a number. */
const LISTED = KNOWN.filter((name) => !/^TURNPIKE_OIDC_\d_/.test(name));

/** Settings by which commands find a service. */
export type ClientConfig = Pick<Config, 'adminUrl' | 'adminToken' | 'dataDirectory'>;

/** Reads no other setting than these. Throws ConfigError for a variable that does not exist. */
export function readClientConfig(
  flags: Pick<ConfigFlags, 'data'> = {},
  environment: Record<string, string | undefined> = process.env,
): Readonly<ClientConfig> {
  const faults = unknownSettings(environment);
  if (faults.length > 0) throw new ConfigError(faults);
  const read = (name: string) => environment[name] || null;
  return Object.freeze({
    adminUrl: read('TURNPIKE_URL'),
    adminToken: read('TURNPIKE_TOKEN'),
    dataDirectory: flags.data ?? read('TURNPIKE_DATA') ?? DEFAULT_DATA,
  });
}

function unknownSettings(environment: Record<string, string | undefined>): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('TURNPIKE_') && !KNOWN.includes(name))
    .map((name) => `${name}: unknown setting (known: ${LISTED.join(', ')})`);
}

const DEFAULT_DATA = './data';

/**
 * Reads the environment; the flags --listen, --admin-listen, --data and --database take precedence. `references` are those that
 * the texts of the environment were read from. Throws ConfigError with every fault at once.
 */
export function readConfig(
  flags: ConfigFlags = {},
  environment: Record<string, string | undefined> = process.env,
  references: Readonly<Record<string, string>> = {},
): Readonly<Config> {
  const { config, faults } = inspectConfig(flags, environment, references);
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

/** As `readConfig`, but returns the faults together with the settings that could be read. */
export function inspectConfig(
  flags: ConfigFlags = {},
  environment: Record<string, string | undefined> = process.env,
  references: Readonly<Record<string, string>> = {},
): { config: Readonly<Config>; faults: string[] } {
  const faults = unknownSettings(environment);
  const read = (name: string) => environment[name] || null;
  const databaseName = flags.database === undefined ? 'TURNPIKE_DATABASE_URL' : '--database';
  const databaseUrl = readDatabase(flags.database ?? read('TURNPIKE_DATABASE_URL'), databaseName, faults);
  const log = read('TURNPIKE_LOG') ?? 'json';
  if (!['json', 'pretty', 'off'].includes(log)) faults.push(`TURNPIKE_LOG: must be json, pretty or off, not "${log}"`);
  const secretBase64 = readSecret('TURNPIKE_SECRET', environment, faults);
  const previousSecretBase64 = readSecret('TURNPIKE_PREVIOUS_SECRET', environment, faults);
  if (secretBase64 !== null && secretBase64 === previousSecretBase64)
    faults.push('TURNPIKE_PREVIOUS_SECRET: is the same as TURNPIKE_SECRET; omit it');
  const trustedProxies = (read('TURNPIKE_TRUSTED_PROXIES') ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  const listen = readListen(
    flags.listen ?? read('TURNPIKE_LISTEN') ?? '127.0.0.1:8080',
    flags.listen === undefined ? 'TURNPIKE_LISTEN' : '--listen',
    faults,
  );
  const adminListenText = flags.adminListen ?? read('TURNPIKE_ADMIN_LISTEN');
  const adminListenName = flags.adminListen === undefined ? 'TURNPIKE_ADMIN_LISTEN' : '--admin-listen';
  const adminListen = adminListenText === null ? null : readListen(adminListenText, adminListenName, faults);
  for (const range of trustedProxies) {
    if (parseRange(range) === null) faults.push(`TURNPIKE_TRUSTED_PROXIES: "${range}" is not an address or CIDR range`);
  }
  const publicUrl = readPublicUrl(read, faults);
  const issuers = readIssuers(read, publicUrl, faults);
  const mail = readMail(read, publicUrl, faults);
  const stripe = readStripe(environment, publicUrl, faults);
  const telemetryFaults = new Set<string>(); // a set, because both signals share variables
  const dataDirectory = flags.data ?? read('TURNPIKE_DATA') ?? DEFAULT_DATA;
  const config = Object.freeze({
    listen,
    adminListen,
    dataDirectory,
    databaseUrl,
    databaseWaitSeconds: readDatabaseWait(read('TURNPIKE_DATABASE_WAIT_SECONDS'), faults),
    secretBase64,
    previousSecretBase64,
    log: log as LogFormat,
    trustedProxies,
    adminUrl: read('TURNPIKE_URL'),
    adminToken: read('TURNPIKE_TOKEN'),
    providerKeys: {
      anthropic: read('ANTHROPIC_API_KEY'),
      openai: read('OPENAI_API_KEY'),
      gemini: read('GEMINI_API_KEY'),
    },
    publicUrl,
    issuers,
    issuerCaFile: read('TURNPIKE_OIDC_CA_FILE'),
    passwordCost: PASSWORD_COST,
    mail,
    stripe,
    telemetry: readTelemetry(read, telemetryFaults),
    agentTelemetry: readAgentTelemetry(read, telemetryFaults),
    telemetryFaults: [...telemetryFaults],
    credentials: readCredentialSettings(environment, dataDirectory, faults),
    files: readFilesPlace(read(FILES), databaseUrl === null ? dataDirectory : null, faults),
    references,
  });
  return { config, faults };
}

/** A secret in base64; null when it is missing or wrong. */
function readSecret(name: string, environment: Record<string, string | undefined>, faults: string[]): string | null {
  const text = environment[name]?.trim();
  if (text === undefined) return null;
  const wanted = name === 'TURNPIKE_SECRET' ? 'omit it to have one generated, or set it to' : 'omit it, or set it to';
  if (text === '') faults.push(`${name}: is empty; ${wanted} 32 or more random bytes in base64`);
  else if (decodeSecret(text) === null) faults.push(`${name}: must be 32 or more random bytes in base64`);
  else return text;
  return null;
}

/** The bytes of an installation's secret; null when they are too few or not base64. */
export function decodeSecret(base64: string): Buffer | null {
  const text = base64.trim();
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length >= 32 ? bytes : null;
}

/** The address of a PostgreSQL database, or null. The fault does not repeat it, because it may contain a password. */
function readDatabase(url: string | null, name: string, faults: string[]): string | null {
  const parsed = url === null ? null : URL.parse(url);
  if (url === null || (parsed !== null && isOfDatabase(parsed))) return url;
  faults.push(
    `${name}: must be the URL of a PostgreSQL database, such as postgres://turnpike@127.0.0.1:5432/turnpike; omit it to use SQLite in the data directory`,
  );
  return null;
}

const DATABASE_WAIT_SECONDS = 60;
const DATABASE_WAIT_SECONDS_MAX = 86_400;

function readDatabaseWait(text: string | null, faults: string[]): number {
  if (text === null) return DATABASE_WAIT_SECONDS;
  const seconds = parseWholeNumber(text);
  if (seconds !== null && seconds <= DATABASE_WAIT_SECONDS_MAX) return seconds;
  faults.push(
    `TURNPIKE_DATABASE_WAIT_SECONDS: must be a whole number from 0 to ${DATABASE_WAIT_SECONDS_MAX}, not "${text}"`,
  );
  return DATABASE_WAIT_SECONDS;
}

function isOfDatabase({ protocol, hostname, pathname }: URL): boolean {
  return /^postgres(?:ql)?:$/.test(protocol) && hostname !== '' && pathname.length > 1;
}

function readListen(text: string, name: string, faults: string[]): ListenAddress {
  const address = parseListenAddress(text);
  if (address !== null) return address;
  faults.push(`${name}: must be ADDRESS:PORT such as 127.0.0.1:8080, not "${text}"`);
  return { hostname: '127.0.0.1', port: 8080 };
}

/** Whether the runtime uses a proxy for outgoing requests. */
export function callsThroughProxy(): boolean {
  return ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'].some((name) => (process.env[name] ?? '') !== '');
}

/** A variable for `${NAME}` in a file that `apply` reads; undefined for TURNPIKE_ names. */
export function environmentVariable(name: string): string | undefined {
  return name.startsWith('TURNPIKE_') ? undefined : process.env[name];
}
