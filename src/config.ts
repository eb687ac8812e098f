// Every bound of the service by name, and the one reader of the environment. Settings that an
// operator changes while the service runs are the catalogue's (`settings:` of apply), not here.

import { parseRange } from './base/address-range.ts';
import { type ListenAddress, parseListenAddress } from './base/listen-address.ts';
import { type OidcSettings, readOidc, readPublicUrl } from './sign-in-settings.ts';
import { readTelemetry, type TelemetrySettings } from './telemetry-settings.ts';

export type { OidcSettings } from './sign-in-settings.ts';
export type { CollectorSettings, TelemetrySettings } from './telemetry-settings.ts';

/** Bounds. Units come last in the names. */
export const bounds = {
  // The socket and the body
  bodyBytesMax: 32 * 1024 * 1024,
  requestHeadSecondsMax: 12,
  uploadBytesPerSecondLeast: 16 * 1024,
  jsonDepthMax: 128,
  jsonValuesMax: 400_000, // tens of megabytes of small ones take seconds to be read, and nobody is answered meanwhile
  messagesMax: 100_000,
  modelNameCharactersMax: 256,
  streamIdleSecondsMax: 60,
  keepAliveIdleSecondsMax: 75, // longer than the 60 s of common load balancers, so that we never close first
  forwardedHopsMax: 32,
  logBufferBytesMax: 4 * 1024 * 1024,
  adminBodyBytesMax: 8 * 1024 * 1024,
  tlsLookMs: 5_000,
  tlsFileBytesMax: 1024 * 1024,
  listenTriesMax: 20, // a tenth of a second apart, when another certificate needs the port anew
  // Load: a message is shed before its body is read, by the settings `shed_…`
  unreadBodySecondsMax: 12, // how long a caller may go on sending a body that nobody reads
  unreadBytesPerSecondMax: 128 * 1024 * 1024,
  loopDelaysSeen: 4, // a single stall sheds nobody: only a delay that stands in all of these
  // Authentication
  cachedKeysMax: 50_000,
  cachedKeyCharactersMax: 64 * 1024 * 1024, // of the lists of all of them
  keyLookupsMax: 1_024,
  failedAuthenticationsPerMinuteMax: 60,
  failureAddressesMax: 10_000,
  ownReadsPerKeyMax: 32,
  ownReadsMax: 1_024,
  // The ledger
  admissionWaitMsMax: 15_000, // for a store that neither answers nor fails
  ledgerQueueMax: 32_768,
  ledgerQueuePerAccountMax: 8_192,
  batchOperationsMax: 1_024,
  ledgerGatherFrom: 4, // bundles in the last parcel, from which on the next is gathered for ledgerGatherMs
  ledgerGatherMs: 1,
  cachedLedgerRowsMax: 100_000,
  rememberedRefusalsMax: 10_000,
  claimKeptMs: 24 * 60 * 60 * 1000,
  answerBytesMax: 8 * 1024 * 1024, // a longer one is not kept for who repeats its message
  answersCollectedBytesMax: 128 * 1024 * 1024, // in memory, of all messages that run or are repeated
  answersStoredBytesMax: 1024 * 1024 * 1024,
  replayPieceCharactersLeast: 64 * 1024, // of a stream that is given once more
  doubtfulAdmissionsMax: 40_000, // those that wait among them: more than may wait
  refusalRememberedMs: 1_000,
  refusalBehindOthersRememberedMs: 100,
  leaseMs: 15_000,
  leaseRenewMs: 5_000,
  leaseRenewAgainMs: 500, // after one that failed
  nanoPerMessageMax: 1_000_000_000_000_000, // one message holds or costs at most a million dollars
  // Usage
  usageTokensMax: 10_000_000, // a count above any context window is not believed
  learnedModelsSavedMax: 50, // in one transaction
  learnedSaveMs: 30_000,
  learnedLastSaveMsMax: 2_000, // at the end of the process
  changesPollMs: 250, // how often a node asks what changed at others
  changesSilenceMsMax: 750, // without an answer, before it forgets what it remembers,
  changesDeafMs: 2_000, // and before it is not ready for messages
  changesStatementMsMax: 2_000, // before it is given up; forgetting does not wait for it
  changesKeptMs: 60 * 60 * 1000, // a node that was away for longer forgets all that it remembers
  startWaitMsMax: 60_000, // for another node that makes the first account and catalogue
  learnedModelsMax: 1_000, // whose estimates are kept; the oldest are dropped
  // Upstream
  upstreamEventBytesMax: 16 * 1024 * 1024,
  upstreamBodyBytesMax: 64 * 1024 * 1024,
  upstreamErrorBytesMax: 64 * 1024,
  attemptsMax: 8,
  attemptReasonCharactersMax: 200,
  circuitOpenMs: 5_000, // the first time; each time that it is not well yet, twice as long
  circuitOpenMsMax: 60_000,
  credentialRestMsMax: 60 * 60 * 1000, // whatever a provider's retry-after says
  restAsksMax: 16, // messages that ask in a rest one after the other, in vain, before they pause
  restAskMs: 1_000, // the first pause; twice as long each time
  routeTargetsMax: 5_000, // models at providers, each with each credential, whose health is known
  conversationsRememberedMax: 20_000,
  conversationNameCharactersMax: 4_096, // of a session's name, and of a message by which a conversation is known
  countTokensSecondsMax: 10, // over all routes, before the count is estimated
  promptCountSecondsMax: 5, // before a message is refused that cannot be paid by its estimate
  promptCountsMax: 64, // at once
  promptCountsInVainPerMinuteMax: 20, // of one account, whose messages were refused all the same
  promptCountAccountsMax: 10_000,
  geminiSchemaDepthMax: 24, // of a tool's schema; deeper, or with more parts, it is an object of any form
  geminiSchemaNodesMax: 5_000,
  geminiRequestSchemaNodesMax: 50_000, // of all tools of one request: references make many of a few
  providerCredentialsMax: 100,
  providerProbeMsMax: 10_000,
  providerTestMsMax: 30_000, // of all its credentials: after so long no further one is probed
  providerProbeCharactersMax: 500,
  // Streams toward the client
  firstEventWaitMs: 20_000,
  pingIntervalMs: 15_000,
  reasoningDetailsCharactersMax: 1024 * 1024, // kept of one stream of chunks until its end; what is longer is not told once more
  // Listings and reports
  pageItemsMax: 1_000,
  reportQueueMax: 512,
  reportQueuePerAskerMax: 128,
  reportWaitMsMax: 30_000,
  reportRetryMs: 2_000,
  reportCharactersPerMs: 8_000, // how fast answers may come: the main thread still has to write them out
  rowsAtOnce: 100, // that are read or written without a pause
  rowsDroppedAtOnce: 200, // in one transaction, while messages wait
  dropRestMs: 100, // between two of them: with less the log is copied so often that messages feel it
  dropEveryMs: 60 * 60 * 1000,
  dropAgainMs: 60_000, // where a month that is wholly too old was in use
  endedSecretKeptMs: 30 * 24 * 60 * 60 * 1000, // of a key: until then who shows it is told that it was replaced
  reportKeysMax: 5_000, // of one maker, whose usage is listed together
  reportKeysAtOnce: 500, // of those, in one statement of PostgreSQL
  totalsRunRows: 10_000, // daily totals that are added up by one statement
  totalsRunRowsOfServer: 50_000, // likewise, of PostgreSQL, which nothing waits for
  totalsStretchMs: 8, // without a rest
  totalsRestMs: 5, // longer than a commit of the ledger
  totalsRowsMax: 2_000_000, // and by one report
  statementRowsMax: 500_000, // daily totals, and entries beside usage, that one statement of an account adds up
  statementEntriesMax: 100,
  statementGroupsMax: 100, // models, and keys, that it shows
  attentionDays: 7, // whose totals tell who used most
  attentionBusiestMax: 200, // accounts, and keys, that are looked at
  attentionDaysLeft: 3, // of money, below which somebody is told
  attentionQuotaShare: 0.9, // used of a quota, from which on
  timelineBucketsMax: 400,
  timelineRecordsMax: 300_000, // that one timeline sums up; what is before them is not counted
  timelineRunRows: 5_000, // by one statement
  timelineCutRecordsMax: 100_000, // of each way to end that is not completion, of each key where keys are asked for
  timelineCutRecordsOfModelMax: 5_000, // likewise, where the records themselves are looked at
  timelineSampledMax: 6_000, // records of which days show how soon they began
  timelineSlicesMax: 1_200, // from as many places of the list
  timelineReadMsMax: 1_500, // after which what was not read is not counted
  accountsSearchedMax: 20_000, // that one page of a search by name or group looks through
  recordsOfKeyLeast: 10, // where they are of many keys together
  usageSearchedMax: 20_000, // records that one page of a search looks through
  usageSearchedAtOnce: 2_000,
  usageSearchMsMax: 700, // after which it looks no further
  // PostgreSQL's connections that only read
  readConnections: 4,
  readStatementMsMax: 5_000,
  readsWaitingMax: 1_024,
  readRestMs: 1_000, // after which a connection is asked whether it still leads somewhere
  reportConnections: 2,
  reportStatementMsMax: 20_000,
  snapshotStatementMsMax: 60 * 60 * 1000, // of a check of all rows
  storeConnectSecondsMax: 3,
  storeSilenceMsMax: 1_000, // beyond the server's own limit, before a connection that says nothing is given up
  // PostgreSQL's connections that write: the server gives up before the node does
  ledgerLanes: 2, // for accounts; more make smaller batches, which cost more
  batchTriesMax: 5,
  writeLockMsMax: 3_000,
  lockedTryMsMax: 200, // for an account that others have had for longer: the lane's other accounts wait as long
  lockedWaitMsMax: 10_000, // aside, before what is asked of it is given up; with the first try, less than an admission waits
  writeStatementMsMax: 5_000,
  writeIdleMsMax: 2_000, // in a transaction
  writeCallerCheckMs: 1_000,
  writeUnacknowledgedMsMax: 5_000,
  writeRoundTripMsMax: 6_000,
  writeEndMsMax: 3_000, // for what was given up to be gone
  commitOutcomeWaitMsMax: 10_000, // until it is known whether a commit that had no answer was made
  holdsExpiredAtOnce: 500,
  messagesRoutedMax: 200_000, // whose lane is remembered while they run
  // PostgreSQL's tables
  migrationWaitMsMax: 60_000, // for another node that is at it
  migrationLockMsMax: 2_000,
  migrationTriesMax: 30,
  migrationRestMs: 1_000, // between two of them
  usageMonthsAhead: 2,
  lapsedLeaseKeptMs: 24 * 60 * 60 * 1000, // of a node that left nothing open
  // A move to PostgreSQL
  movedRowsAtOnce: 2_000,
  movedCharactersAtOnce: 4 * 1024 * 1024, // beyond which a piece has no further row
  moveStatementMsMax: 2 * 60 * 1000, // of one piece
  moveWaitMsMax: 5_000, // for another that was killed to be gone
  moveIdleMsMax: 60_000, // in its transaction
  moveUnacknowledgedMsMax: 30_000, // of what is sent, and between looks whether somebody is there
  // What the doctor looks at
  doctorCheckBytesMax: 256 * 1024 * 1024, // a larger database takes too long to be verified in passing
  doctorFilesMax: 1_000,
  doctorAnswerWaitMs: 5_000,
  doctorNamesMax: 10, // of a kind, such as transactions that are long open
  longTransactionMs: 5 * 60 * 1000,
  deadRowsMany: 100_000, // of one table, when they are more than the others
  transactionAgeHigh: 1_000_000_000,
  transactionAgeMost: 1_600_000_000, // at 2,100 million the server takes no more writes
  diskFreeBytesLow: 1024 * 1024 * 1024,
  diskFreeBytesLeast: 128 * 1024 * 1024,
  clockBehindMsMax: 2_000,
  certificateWarningMs: 21 * 24 * 60 * 60 * 1000,
  retirementWarningMs: 30 * 24 * 60 * 60 * 1000,
  // People who sign in
  passwordCharactersLeast: 10,
  passwordCharactersMax: 128,
  passwordsHashedAtOnce: 2, // each takes 19 MiB
  passwordsWaitingMax: 64,
  sessionMs: 7 * 24 * 60 * 60 * 1000,
  sessionRefreshMs: 24 * 60 * 60 * 1000, // after which a session in use begins anew
  signInWindowMs: 60_000,
  signInsPerAddressMax: 10, // in one window; guesses at passwords and second factors are each counted by themselves
  signInRequestsPerAddressMax: 100,
  passwordGuessesMax: 20, // at one person's password, from whichever addresses; of each browser that they signed in with, as many
  passwordGuessesWindowMs: 5 * 60 * 1000,
  knownDeviceKeptMs: 180 * 24 * 60 * 60 * 1000,
  secondFactorGuessesMax: 10, // with the right password, one after the other
  secondFactorRestMs: 15 * 60 * 1000,
  secondFactorCodeMs: 2 * 60 * 1000, // longer than a code is taken by any clock
  signInQuestionsMax: 256, // that the thread of sign-in was asked and has not answered
  signInWaitMsMax: 15_000,
  consoleBundleMsMax: 120_000, // a second, on a machine that has one to spare
  signInRestartMs: 1_000, // after a thread that could not begin
  signInBodyBytesMax: 16 * 1024,
  signInQueryCharactersMax: 8 * 1024,
  signInCookieCharactersMax: 8 * 1024,
  userAgentCharactersMax: 300,
  signInConnections: 2,
  signInStatementMsMax: 5_000,
  issuerAnswerMsMax: 5_000,
  issuerAnswerBytesMax: 1024 * 1024,
  // What the admin API takes
  nameCharactersMax: 200,
  noteCharactersMax: 1_000,
  listMembersMax: 100,
  idsMax: 100, // that one list is asked for
  originCharactersMax: 300,
  keysPerAccountMax: 10_000, // that its own tokens make; an operator makes more
  tokensPerAccountMax: 1_000,
  peoplePerAccountMax: 1_000,
  emailCharactersMax: 254,
  linkMs: 7 * 24 * 60 * 60 * 1000, // that an invitation can be accepted
  rateLimitMax: 1_000_000_000,
  applyNodesMax: 200_000,
  accountBodyBytesMax: 1024 * 1024, // with a token of an account: no catalogue is in it
  adminAnswersPerTokenMax: 4, // at a time, of those that are of an account
  adminAnswersPerAccountMax: 12,
  adminWaitingPerTokenMax: 128,
  adminWaitingPerAccountMax: 512,
  changeTriesMax: 30, // of a change that other nodes outpace
  changeRestMsMax: 30, // between two of them
  adminAnswerWaitMs: 60_000,
  nameLookupMsMax: 5_000, // of a provider's host, before it counts as leading nowhere
  idempotencyKeyCharactersMax: 255,
  creationRememberedMs: 24 * 60 * 60 * 1000,
  keyGraceMs: 24 * 60 * 60 * 1000,
  keyGraceMsMax: 30 * 24 * 60 * 60 * 1000,
  logLineCharactersMax: 8_192,
  // Metrics and traces
  metricSeriesMax: 2_000, // of one metric, before new names of models, providers and groups count as "other"
  metricDistributionsMax: 250, // of one histogram: each has a series for each of its buckets
  upstreamHealthAttempts: 5, // the last attempts of a provider by which it counts as up or down
  eventLoopSampleMs: 50,
  tracedSpansQueuedMax: 4_096,
  tracedSpansPerExportMax: 512,
  telemetryFlushMsMax: 3_000,
} as const;

export type LogFormat = 'json' | 'pretty' | 'off';

/** What the process was started with, parsed once and frozen. */
export interface Config {
  listen: ListenAddress;
  /** Where the admin API answers, whatever the setting `admin_listen` says; null: as that says. */
  adminListen: ListenAddress | null;
  dataDirectory: string;
  /** postgres://…, with its password; null: SQLite in the data directory. */
  databaseUrl: string | null;
  secretBase64: string | null;
  /** The secret before it, while what was made under that one is accepted too. */
  previousSecretBase64: string | null;
  log: LogFormat;
  trustedProxies: readonly string[];
  /** For the commands: where the admin API is, and with which token. */
  adminUrl: string | null;
  adminToken: string | null;
  providerKeys: { anthropic: string | null; openai: string | null; gemini: string | null };
  /** Where people reach the service, as an origin; null where nobody says so. */
  publicUrl: string | null;
  /** By whom people sign in besides passwords; null: by nobody. */
  oidc: OidcSettings | null;
  /** Where traces and metrics are sent to; null: nowhere. */
  telemetry: TelemetrySettings | null;
  /** What is wrong with the variables that say so. They keep the service from starting, and no other command from its work. */
  telemetryFaults: readonly string[];
}

/** Flags of `serve` that win over their variables. */
export interface ConfigFlags {
  listen?: string;
  adminListen?: string;
  data?: string;
  database?: string;
}

/** Wrong settings, all faults together, each naming its variable or flag. */
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
  'SECRET',
  'PREVIOUS_SECRET',
  'LOG',
  'TRUSTED_PROXIES',
  'URL',
  'TOKEN',
  'PUBLIC_URL',
  'OIDC_ISSUER',
  'OIDC_CLIENT_ID',
  'OIDC_CLIENT_SECRET',
  'OIDC_NAME',
  'OIDC_EMAIL_VERIFIED',
].map((name) => `TURNPIKE_${name}`);

/**
 * Reads the environment; the flags --listen, --admin-listen, --data and --database win over it.
 * Throws ConfigError with every fault at once.
 */
export function readConfig(
  flags: ConfigFlags = {},
  environment: Record<string, string | undefined> = process.env,
): Readonly<Config> {
  const { config, faults } = inspectConfig(flags, environment);
  if (faults.length > 0) throw new ConfigError(faults);
  return config;
}

/** Reads it as `readConfig` does, with the faults beside what could be read in spite of them. */
export function inspectConfig(
  flags: ConfigFlags = {},
  environment: Record<string, string | undefined> = process.env,
): { config: Readonly<Config>; faults: string[] } {
  const faults: string[] = [];
  for (const name of Object.keys(environment)) {
    if (name.startsWith('TURNPIKE_') && !KNOWN.includes(name))
      faults.push(`${name}: no such setting (known: ${KNOWN.join(', ')})`);
  }
  const read = (name: string) => environment[name] || null;
  const databaseName = flags.database === undefined ? 'TURNPIKE_DATABASE_URL' : '--database';
  const databaseUrl = readDatabase(flags.database ?? read('TURNPIKE_DATABASE_URL'), databaseName, faults);
  const log = read('TURNPIKE_LOG') ?? 'json';
  if (!['json', 'pretty', 'off'].includes(log)) faults.push(`TURNPIKE_LOG: must be json, pretty or off, not "${log}"`);
  const secretBase64 = readSecret('TURNPIKE_SECRET', environment, faults);
  const previousSecretBase64 = readSecret('TURNPIKE_PREVIOUS_SECRET', environment, faults);
  if (secretBase64 !== null && secretBase64 === previousSecretBase64)
    faults.push('TURNPIKE_PREVIOUS_SECRET: is the same as TURNPIKE_SECRET; leave it out');
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
    if (parseRange(range) === null) faults.push(`TURNPIKE_TRUSTED_PROXIES: "${range}" is no address or CIDR range`);
  }
  const publicUrl = readPublicUrl(read, faults);
  const oidc = readOidc(read, publicUrl, faults);
  const telemetryFaults = new Set<string>(); // what both signals share is said once
  const config = Object.freeze({
    listen,
    adminListen,
    dataDirectory: flags.data ?? read('TURNPIKE_DATA') ?? './data',
    databaseUrl,
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
    oidc,
    telemetry: readTelemetry(read, telemetryFaults),
    telemetryFaults: [...telemetryFaults],
  });
  return { config, faults };
}

/** A secret in base64, or null where there is none or it has a fault. */
function readSecret(name: string, environment: Record<string, string | undefined>, faults: string[]): string | null {
  const text = environment[name]?.trim();
  if (text === undefined) return null;
  const wanted = name === 'TURNPIKE_SECRET' ? 'leave it out to have one made, or give' : 'leave it out, or give';
  if (text === '') faults.push(`${name}: is empty; ${wanted} 32 or more random bytes in base64`);
  else if (decodeSecret(text) === null) faults.push(`${name}: must be 32 or more random bytes in base64`);
  else return text;
  return null;
}

/** The bytes of an installation's secret, or null when they are too few or no base64. */
export function decodeSecret(base64: string): Buffer | null {
  const text = base64.trim();
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length >= 32 ? bytes : null;
}

/** The address of a PostgreSQL database, or null. What is wrong is not repeated in the fault: it may hold a password. */
function readDatabase(url: string | null, name: string, faults: string[]): string | null {
  const parsed = url === null ? null : URL.parse(url);
  if (url === null || (parsed !== null && isOfDatabase(parsed))) return url;
  faults.push(
    `${name}: must be the address of a PostgreSQL database, such as postgres://turnpike@127.0.0.1:5432/turnpike; leave it out to use SQLite in the data directory`,
  );
  return null;
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

/** Whether the runtime sends what it fetches through a proxy. */
export function callsThroughProxy(): boolean {
  return ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'].some((name) => (process.env[name] ?? '') !== '');
}

/** A variable of this process for `${NAME}` in a file that `apply` reads; TURNPIKE_ names are never given out. */
export function environmentVariable(name: string): string | undefined {
  return name.startsWith('TURNPIKE_') ? undefined : process.env[name];
}
