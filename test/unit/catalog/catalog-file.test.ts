// The catalog file that apply reads: its fields, every fault it can have, and the resulting documents.

import { describe, expect, test } from 'bun:test';
import { parse } from 'yaml';
import { formatFault, planApply, type Settings } from '../../../src/catalog/catalog.ts';
import { readDecimalRate } from '../../../src/catalog/document.ts';
import { catalogOf, planOptions } from './support.ts';

const EXAMPLE = `
vendor_prefixes: [vendor, anthropic]          # header names accepted: <prefix>-version, <prefix>-beta, …
providers:
  anthropic: { kind: anthropic, base_url: https://api.anthropic.com, api_key: "\${ANTHROPIC_API_KEY}" }
  local:     { kind: openai, base_url: http://127.0.0.1:11434/v1, private_network: true }
  sandbox:   { kind: sandbox }
models:
  claude-sonnet-4-5:
    aliases: [claude-sonnet-4-5-20250929]
    price: { input: "3", output: "15", cache_read: "0.3", cache_write_5m: "3.75", cache_write_1h: "6",      # USD per million tokens
             long_context: { above: 200000, input: "6", output: "22.5", cache_read: "0.6", cache_write_5m: "7.5", cache_write_1h: "12" } }
    max_output_tokens: 64000
    routes:
      - { provider: anthropic, model: claude-sonnet-4-5-20250929, priority: 0, weight: 1, cost: { input: "3", output: "15" } }
  llama:
    price: { input: "0.1", output: "0.2" }
    routes: [{ provider: local, model: "llama3.2" }]
groups:
  default: { models: ["*"], multiplier: "1" }
  vip:     { models: ["claude-*"], multiplier: "0.8", rpm: 600, input_tpm: 2000000, output_tpm: 400000, concurrency: 50 }
settings:
  output_tranche_tokens: 2048
  drain_seconds: 600
`;

const price = { input: '1', output: '2' };
const routes = [{ provider: 'sandbox' }];
const providers = { sandbox: { kind: 'sandbox' } };

/** The faults of a file as lines, sorted. */
function faultsOf(file: unknown): string[] {
  return planApply([], file, planOptions()).faults.map(formatFault).sort();
}
const ofModel = (model: object) => faultsOf({ providers, models: { m: { price, routes, ...model } } });
const ofProvider = (provider: object) => faultsOf({ providers: { p: provider } });
const ofGroup = (group: object) => faultsOf({ groups: { g: group } });

/** The settings of the example: its own, and defaults. */
const settingsOfFile: Settings = {
  vendorPrefixes: ['vendor', 'anthropic'],
  installationName: 'Turnpike',
  installationLogo: null,
  supportAddress: null,
  rechargeInstructions: null,
  termsVersion: null,
  termsOfService: null,
  privacyPolicy: null,
  landingTitle: null,
  landingText: null,
  landingLinks: [],
  publicModels: 'off',
  publicStatus: 'off',
  publicGroup: 'default',
  hiddenFromAccounts: [],
  outputTrancheTokens: 2_048,
  outputFloorTokens: 256,
  drainSeconds: 600,
  drainNoticeSeconds: 0,
  bodyBytesMax: 33_554_432,
  requireBrowserHeader: false,
  errorStatuses: 'turnpike',
  upstreamConnectSeconds: 10,
  upstreamFirstEventSeconds: 300,
  upstreamStreamSeconds: 3_600,
  upstreamSilenceSeconds: 300,
  upstreamAnswerSeconds: 600,
  attemptsSeconds: 600,
  circuitFailures: 5,
  finishWithoutCallerSeconds: 600,
  finishStreamsWithoutCallerMax: 0,
  settleWaitSeconds: 30,
  reversalsPerAccountDay: '10.00',
  adminListen: null,
  shedLoopDelayMs: 500,
  shedBodyBytes: 268_435_456,
  shedOpenMessages: 20_000,
  fileBytesMax: 512 * 1024 * 1024,
  filesBytesMax: 10 * 1024 * 1024 * 1024,
  filesMax: 10_000,
  batchMultiplier: '1',
  batchMessagesMax: 16,
  usageRetentionDays: null,
  journalRetentionMonths: null,
  eventRetentionDays: 30,
  webhookPrivateNetwork: 'off',
  ...{ tagsRequired: [], tagsPinned: [], tagsInTotals: null, tagsInMetrics: [] },
  ...{ accountsInMetrics: [], topAccountsInMetrics: 0 },
  priceListKey: null,
  secondFactorRequired: 'nobody',
  sessionLifetimeHours: 720,
  operatorSessionLifetimeHours: 24,
  ...{ agentSignIn: 'off', agentSignInDays: 90, agentTokenMinutes: 60, agentNotice: null },
  signUp: 'off',
  signUpDomains: [],
  emailDomainsDenied: [],
  emailDomainsAllowed: [],
  signUpGroup: 'default',
  signUpCredit: '0',
  signUpsPerDayMax: 100,
  rechargeAmounts: ['10', '25', '50', '100'],
  rechargeMin: '5',
  rechargeMax: '1000',
  rechargeGroups: [],
  rechargeBonus: [],
  autoRechargesPerDayMax: 5,
  stripeAutomaticTax: false,
  planGraceHours: 72,
  providerBillDifferencePercent: 2,
  providerBillDifferenceUsd: '1.00',
};

describe('the documented example', () => {
  const catalog = catalogOf(parse(EXAMPLE.replace(/\$\{ANTHROPIC_API_KEY\}/, 'sk-ant-1')));

  test('becomes models with exact rates, aliases and routes', () => {
    const sonnet = catalog.models.get('claude-sonnet-4-5');
    expect(sonnet).toMatchObject({
      displayName: 'claude-sonnet-4-5',
      maxOutputTokens: 64_000,
      maxInputTokens: null,
      defaultMaxTokens: 4_096,
      createdAt: '2026-11-20T00:00:00.000Z',
    });
    expect(sonnet?.price.standard.cacheWrite5m).toBe(3_750_000_000_000n);
    expect(sonnet?.price.longContext).toMatchObject({ aboveTokens: 200_000, rates: { output: 22_500_000_000_000n } });
    expect(sonnet?.routes[0]).toMatchObject({
      provider: 'anthropic',
      upstreamModel: 'claude-sonnet-4-5-20250929',
      priority: 0,
      weight: 1,
    });
    expect(sonnet?.routes[0]?.cost?.standard.cacheRead).toBe(3_000_000_000_000n);
    expect(catalog.aliases.get('claude-sonnet-4-5-20250929')).toBe('claude-sonnet-4-5');
    expect(catalog.models.get('llama')?.price.standard.cacheWrite1h).toBe(100_000_000_000n);
  });

  test('becomes groups, providers and settings', () => {
    expect(catalog.groups.get('vip')).toEqual({
      name: 'vip',
      models: ['claude-*'],
      multiplierMillionths: 800_000n,
      limits: {
        ...{ requestsPerMinute: 600, inputTokensPerMinute: 2_000_000, outputTokensPerMinute: 400_000, concurrency: 50 },
      },
      residency: null,
      tiers: null,
    });
    expect(catalog.groups.get('default')?.limits.concurrency).toBeNull();
    expect(catalog.providers.get('anthropic')?.credentials[0]?.secret.reveal()).toBe('sk-ant-1');
    expect(catalog.providers.get('local')).toMatchObject({ baseUrl: 'http://127.0.0.1:11434/v1', credentials: [] });
    expect(catalog.providers.get('sandbox')?.baseUrl).toBe('');
    expect(catalog.settings).toEqual(settingsOfFile);
  });

  test('is refused unchanged, because its variable was not expanded', () => {
    expect(faultsOf(parse(EXAMPLE))).toEqual([
      'providers.anthropic.api_key: contains a variable that was not expanded: the process that reads the file must expand it',
    ]);
  });
});

test('a credential is not visible in the snapshot', () => {
  const catalog = catalogOf({ providers: { a: { kind: 'anthropic', api_key: 'sk-ant-1' } } });
  expect(catalog.providers.get('a')?.baseUrl).toBe('https://api.anthropic.com');
  expect(Bun.inspect([...catalog.providers.values()])).not.toContain('sk-ant-1');
});

test('an empty file or an empty section is valid and has no effect', () => {
  for (const file of [null, {}, { models: null, groups: null, settings: null, providers: null, vendor_prefixes: null }])
    expect(planApply([], file, planOptions())).toMatchObject({ faults: [], changes: [], put: [], remove: [] });
});

describe('the faults of a file', () => {
  test('include unknown fields at every level', () => {
    expect(faultsOf({ modles: {} })).toEqual([
      'modles: unknown member (known: vendor_prefixes, providers, models, groups, plans, agent_policies, settings)',
    ]);
    expect(ofModel({ x: 1, routes: [{ provider: 'sandbox', y: 1 }], price: { ...price, z: 1 } })).toEqual([
      'models.m.price.z: unknown member',
      'models.m.routes.0.y: unknown member',
      'models.m.x: unknown member',
    ]);
    expect(faultsOf({ settings: { drain_ms: 1 } })).toEqual(['settings.drain_ms: unknown member']);
    expect(ofModel({ created_at: 'x' })).toEqual(['models.m.created_at: unknown member']);
    expect(ofProvider({ kind: 'anthropic', api_key_sealed: 'x' })).toEqual([
      'providers.p.api_key_sealed: unknown member',
    ]);
  });

  test('include a file that is not an object, and sections that are not', () => {
    expect(faultsOf([])).toEqual(['must be an object']);
    expect(faultsOf('text')).toEqual(['must be an object']);
    expect(faultsOf({ models: [], groups: 3 })).toEqual(['groups: must be an object', 'models: must be an object']);
  });

  test('include a model without a price or a route', () => {
    expect(faultsOf({ providers, models: { m: { routes } } })).toEqual([
      'models.m.price: is missing: a model without a price cannot be sold; set at least { input: "…", output: "…" } in USD per million tokens, or "catalogue: true" for a model of the price list',
    ]);
    expect(ofModel({ price: { input: '1' } })).toEqual(['models.m.price.output: is missing']);
    expect(ofModel({ routes: [] })).toEqual(['models.m.routes: must not be empty: a model needs a route']);
    expect(faultsOf({ models: { m: { price } } })).toEqual(['models.m.routes: is missing: a model needs a route']);
    expect(ofModel({ price: { ...price, fast: { input: '1' } } })).toEqual(['models.m.price.fast.output: is missing']);
    expect(ofModel({ price: { ...price, long_context: { input: '1', output: '1' } } })).toEqual([
      'models.m.price.long_context.above: is missing',
    ]);
  });

  test('include inexact or invalid decimals', () => {
    const ofRate = (input: unknown) => ofModel({ price: { input, output: '1' } });
    expect(ofRate(0.1)).toEqual(['models.m.price.input: must be in quotes: an unquoted fraction loses precision']);
    expect(ofRate(3)).toEqual([]);
    const words =
      'models.m.price.input: must be a decimal in USD such as "3.75", from 0 to 10000, with at most 12 fraction digits';
    for (const wrong of ['', '3,75', '-1', '1e3', '0.0000000000001', '10000.1', -1, 1e21, true, null, {}])
      expect(ofRate(wrong)).toEqual([words]);
    expect(ofGroup({ models: ['*'], multiplier: 0.8 })[0]).toStartWith('groups.g.multiplier: must be in quotes');
    expect(ofGroup({ models: ['*'], multiplier: '0.1234567' })[0]).toStartWith(
      'groups.g.multiplier: must be a decimal',
    );
  });

  test('include kinds, addresses and credentials of providers', () => {
    expect(ofProvider({ kind: 'nonesuch' })).toEqual([
      'providers.p.kind: must be one of anthropic, foundry, openai, sandbox',
    ]);
    const routes = [{ provider: 'p', protocol: 'messages' }];
    expect(faultsOf({ providers: { p: { kind: 'constructor' } }, models: { m: { price, routes } } })[0]).toStartWith(
      'providers.p.kind: must be one of',
    );
    expect(ofProvider({})).toEqual(['providers.p.kind: is missing']);
    expect(ofProvider({ kind: 'openai' })).toEqual([
      'providers.p.base_url: is missing: the kind openai has no default address',
    ]);
    const wrongUrls = [
      'ftp://example.com',
      'example.com',
      'https://user:word@example.com',
      'https://example.com/?a=b',
      'https://example.com/#x',
      'file:///etc/passwd',
    ];
    for (const base_url of wrongUrls)
      expect(ofProvider({ kind: 'openai', base_url })).toEqual([
        'providers.p.base_url: must be an http or https URL without user, query and fragment',
      ]);
    const older = 'https://mine.openai.azure.com/?api-version=2024-10-21';
    expect(ofProvider({ kind: 'openai', base_url: older })).toEqual([]);
    for (const [kind, base_url] of [
      ['anthropic', older],
      ['openai', `${older}&code=x`],
    ])
      expect(ofProvider({ kind, base_url })).toHaveLength(1);
    expect(ofProvider({ kind: 'sandbox', base_url: 'https://example.com' })).toEqual([
      'providers.p.base_url: is only for providers outside the service',
    ]);
    expect(ofProvider({ kind: 'anthropic', api_key: '' })).toEqual([
      'providers.p.api_key: must not be empty: omit it if there is none',
    ]);
    expect(ofProvider({ kind: 'anthropic', api_key: 'two words\n' })).toEqual([
      'providers.p.api_key: must be printable characters without spaces',
    ]);
  });

  test('include members of providers that are for another kind', () => {
    const openai = { kind: 'openai', base_url: 'https://example.com' };
    for (const [member, value, kind] of [
      ['bearer', true, 'anthropic: other kinds send the header of their provider'],
      ['workspace', 'wrkspc_01AbCd', 'anthropic'],
      ['allow_storage', true, 'gemini'],
    ])
      expect(ofProvider({ ...openai, [String(member)]: value })).toEqual([
        `providers.p.${member}: is only for the kind ${kind}`,
      ]);
    expect(ofProvider({ kind: 'anthropic', workspace: 'two words' })).toEqual([
      'providers.p.workspace: must be the id of a workspace, such as wrkspc_01AbCd',
    ]);
    expect(ofProvider({ kind: 'anthropic', workspace: 'wrkspc_01AbCd' })).toEqual([]);
  });

  test('include what Claude Platform on AWS needs: a region, its workspace, and no other kind for the identity', () => {
    const [region, workspace, aws] = ['us-west-2', 'wrkspc_01AbCd', { type: 'aws' }];
    expect(ofProvider({ kind: 'anthropic', region, workspace, auth: aws })).toEqual([]);
    expect(ofProvider({ kind: 'anthropic', region, workspace, bearer: true, api_key: 'key' })).toEqual([]);
    expect(ofProvider({ kind: 'anthropic', region, auth: aws })).toEqual([
      'providers.p.workspace: is missing: every request to Claude Platform on AWS names it',
    ]);
    const needsRegion = 'of the type aws needs the region of Claude Platform on AWS';
    expect(ofProvider({ kind: 'anthropic', workspace, auth: aws })).toEqual([`providers.p.auth: ${needsRegion}`]);
    expect(ofProvider({ kind: 'anthropic', workspace, credentials: { two: { auth: aws } } })).toEqual([
      `providers.p.credentials.two.auth: ${needsRegion}`,
    ]);
    const google = { kind: 'anthropic', auth: { type: 'google' } };
    const managed = 'https://claude.googleapis.com/v1alpha/projects/p/locations/global/workspaces/w/invoke';
    expect(ofProvider({ ...google, base_url: managed })).toEqual([]);
    expect(ofProvider({ ...google, base_url: 'https://example.com' })).toEqual([
      expect.stringMatching(/^providers.p.base_url: must be at googleapis.com with https/),
    ]);
    const openai = { kind: 'openai', base_url: 'https://example.com' };
    expect(ofProvider({ ...openai, region })).toEqual([
      'providers.p.region: is only for the kinds bedrock, vertex, anthropic',
    ]);
    expect(ofProvider({ ...openai, auth: aws })).toEqual([
      'providers.p.auth: of the type aws is only for the kinds bedrock, anthropic',
    ]);
  });

  test('include a provider in a private network without permission', () => {
    for (const base_url of [
      'http://127.0.0.1:1/v1',
      'http://localhost:1',
      'http://[::1]/',
      'http://2130706433',
      'http://169.254.169.254',
    ])
      expect(ofProvider({ kind: 'openai', base_url })[0]).toEndWith(
        'in a private network: set "private_network: true" to allow it',
      );
    expect(ofProvider({ kind: 'openai', base_url: 'http://127.0.0.1:1/v1', private_network: true })).toEqual([]);
  });

  test('include a route to a provider that is not configured', () => {
    expect(ofModel({ routes: [{ provider: 'sandbox' }, { provider: 'nowhere' }] })).toEqual([
      'models.m.routes.1.provider: there is no provider "nowhere"',
    ]);
  });

  test('include names and aliases that lead to two models', () => {
    const m = { price, routes };
    expect(
      faultsOf({ providers, models: { a: { ...m, aliases: ['x', 'x'] }, b: { ...m, aliases: ['x', 'a', 'b'] } } }),
    ).toEqual([
      'models.a.aliases.1: "x" is already an alias of the model "a"',
      'models.b.aliases.0: "x" is already an alias of the model "a"',
      'models.b.aliases.1: "a" is the name of a model',
      'models.b.aliases.2: "b" is the name of a model',
    ]);
  });

  test('include groups without patterns, and invalid limits', () => {
    expect(ofGroup({ models: [] })).toEqual([
      'groups.g.models: must not be empty: a group needs a pattern such as "*"',
    ]);
    expect(ofGroup({})).toEqual(['groups.g.models: is missing']);
    expect(ofGroup({ models: [''] })).toEqual(['groups.g.models.0: must not be empty']);
    expect(ofGroup({ models: ['*'], rpm: 0, concurrency: 1.5, input_tpm: '5', output_tpm: '1.5' })).toEqual([
      'groups.g.concurrency: must be a whole number',
      'groups.g.input_tpm: must be a whole number without quotes',
      'groups.g.output_tpm: must be a whole number',
      'groups.g.rpm: must be at least 1',
    ]);
  });

  test('include invalid names', () => {
    expect(
      faultsOf({ providers, models: { 'a**': { price, routes: [{ provider: 'sandbox', model: 'b' }] } } }),
    ).toContain('models.a**: must be a name without spaces and with at most one "*"');
    // Half of a surrogate pair: the store would keep a different name.
    expect(faultsOf({ providers, models: { 'a\ud800': { price, routes } } })).toHaveLength(1);
    expect(ofModel({ routes: [{ provider: 'sandbox', model: '\udfff' }], aliases: ['\ud800'], price })).toHaveLength(2);
    expect(faultsOf({ groups: { g: { models: ['\ud800*'] } } })).toHaveLength(1);
    expect(faultsOf({ groups: { 'a b': { models: ['*'] } } })[0]).toStartWith(
      'groups.a b: must be a name of at most 64',
    );
    expect(faultsOf(JSON.parse('{"groups":{"__proto__":{"models":["*"]}}}'))[0]).toStartWith(
      'groups.__proto__: must be a name',
    );
  });

  test('include vendor prefixes that cannot begin a header name', () => {
    const words = 'must have at most 32 characters of a-z, 0-9 and "-", and start with a letter';
    expect(faultsOf({ vendor_prefixes: ['Vendor', '1x', 'ok', 'a b', ''] })).toEqual(
      [0, 1, 3, 4].map((at) => `vendor_prefixes.${at}: ${words}`),
    );
    expect(faultsOf({ vendor_prefixes: [] })).toEqual(['vendor_prefixes: must not be empty']);
    expect(faultsOf({ vendor_prefixes: ['a', 'a'] })).toEqual(['vendor_prefixes: must not contain a prefix twice']);
  });

  test('include settings out of bounds', () => {
    expect(
      faultsOf({
        settings: {
          body_bytes_max: 33_554_433,
          drain_seconds: -1,
          settle_wait_seconds: '30',
          require_browser_header: 'no',
          error_statuses: 'anthropic',
          admin_listen: '127.0.0.1',
          shed_loop_delay_ms: 0,
          shed_open_messages: 0,
        },
      }),
    ).toEqual([
      'settings.admin_listen: must be ADDRESS:PORT such as "127.0.0.1:8081"',
      'settings.body_bytes_max: must be at most 33554432',
      'settings.drain_seconds: must be at least 0',
      'settings.error_statuses: must be "turnpike" or "vendor"',
      'settings.require_browser_header: must be true or false',
      'settings.settle_wait_seconds: must be a whole number without quotes',
      'settings.shed_loop_delay_ms: must be at least 20',
      'settings.shed_open_messages: must be at least 1',
    ]);
  });

  test('include a journal retention shorter than that of usage records', () => {
    const faults = (days: number | null | undefined, months: number) =>
      faultsOf({ settings: { usage_retention_days: days, journal_retention_months: months } });
    const why = 'a month whose usage records are kept cannot be dropped';
    const alone = [`settings.journal_retention_months: requires usage_retention_days: ${why}`];
    expect([faults(undefined, 12), faults(null, 12)]).toEqual([alone, alone]);
    expect(faults(60, 2)).toEqual([
      `settings.journal_retention_months: is too low for usage_retention_days, 60: ${why}`,
    ]);
    expect([faults(59, 2), faults(365, 12), faults(2, 2), faults(60, 3)]).toEqual([[], [], [], []]);
    expect(faults(1, 1)).toEqual([
      'settings.journal_retention_months: must be at least 2',
      'settings.usage_retention_days: must be at least 2',
    ]);
    expect(faultsOf({ settings: { usage_retention_days: 400 } })).toEqual([]);
  });

  test('include a load-shedding limit below the size of the largest body', () => {
    const words = 'a body of that size would always be shed';
    expect(faultsOf({ settings: { shed_body_bytes: 33_554_431 } })).toEqual([
      `settings.shed_body_bytes: must be at least body_bytes_max, 33554432: ${words}`,
    ]);
    expect(faultsOf({ settings: { shed_body_bytes: 5_000, body_bytes_max: 5_001 } })).toEqual([
      `settings.shed_body_bytes: must be at least body_bytes_max, 5001: ${words}`,
    ]);
    expect(faultsOf({ settings: { shed_body_bytes: 5_000, body_bytes_max: 5_000 } })).toEqual([]);
  });

  test('include settings that do not match the kind of a provider, also beside other faults', () => {
    const private_network = 'yes';
    expect(ofProvider({ kind: 'nothing', base_url: 'ftp://x', private_network })).toEqual([
      'providers.p.base_url: must be an http or https URL without user, query and fragment',
      expect.stringMatching(/^providers.p.kind: must be one of/),
      'providers.p.private_network: must be true or false',
    ]);
    expect(ofProvider({ kind: 'openai', base_url: 'http://10.0.0.1', api_key: 'a b' })).toEqual([
      'providers.p.api_key: must be printable characters without spaces',
      expect.stringMatching(/^providers.p.base_url: resolves to 10.0.0.1 in a private network/),
    ]);
    expect(ofProvider({ kind: 'sandbox', base_url: 'ftp://x', colour: 1 })).toEqual([
      'providers.p.base_url: is only for providers outside the service',
      'providers.p.colour: unknown member',
    ]);
  });

  test('include references to missing or wrong objects, also in a model with other faults', () => {
    const routes = [{ provider: 'nobody', weight: -1 }, { provider: 'no name' }, {}, null, { provider: 'nobody' }];
    expect(faultsOf({ providers, models: { a: { price: 'x', aliases: [7, 'b'], routes }, b: 5 } })).toEqual([
      'models.a.aliases.0: must be a string',
      'models.a.aliases.1: "b" is the name of a model',
      'models.a.price: must be an object',
      'models.a.routes.0.provider: there is no provider "nobody"',
      'models.a.routes.0.weight: must be at least 0',
      expect.stringMatching(/^models.a.routes.1.provider: must be a name/),
      'models.a.routes.2.provider: is missing',
      'models.a.routes.3: must be an object',
      'models.a.routes.4.provider: there is no provider "nobody"',
      'models.b: must be an object',
    ]);
  });

  test('are all reported at once, and no change is planned', () => {
    const plan = planApply(
      [],
      {
        providers,
        models: { a: { routes: [] }, b: { price, routes: [{ provider: 'x' }] } },
        groups: { g: { models: [] } },
      },
      planOptions(),
    );
    expect(plan.faults).toHaveLength(4);
    expect(plan).toMatchObject({ changes: [], put: [], remove: [] });
  });

  test('never repeat a credential', () => {
    const faults = ofProvider({
      kind: 'nonesuch',
      api_key: 'sk-secret word',
      base_url: 'https://sk-secret@example.com',
    });
    expect(faults.length).toBeGreaterThan(0);
    expect(faults.join()).not.toContain('sk-secret');
  });
});

test('readDecimalRate reads a decimal exactly or refuses it', () => {
  expect(readDecimalRate('3.75')).toBe(3_750_000_000_000n);
  expect(readDecimalRate(3)).toBe(3_000_000_000_000n);
  expect(readDecimalRate('0.000000000001')).toBe(1n);
  for (const wrong of [0.1, '0.0000000000001', '-1', 'x', null, undefined]) expect(readDecimalRate(wrong)).toBeNull();
});
