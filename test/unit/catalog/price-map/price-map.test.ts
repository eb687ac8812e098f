// Our price list against a public price map, row by row: a row has the map's rates, or a rule says why it has others or
// is missing. record.ts makes the map's rows.

import { describe, expect, test } from 'bun:test';
import { includedPriceList, type ListedModel } from '../../../../src/catalog/catalog.ts';
import { PRICED_TIERS } from '../../../../src/wire/wire.ts';
import recorded from './price-map.json' with { type: 'json' };

const mapDay = recorded.day;
const IN_GEOGRAPHY = /^(?:us-gov|us|eu|au|jp|apac|in|global)\.(?=[a-z0-9]+\.)/;

interface MapRow {
  provider: string;
  model: string;
  use: string;
  retiresOn: string;
  rates: Readonly<Record<string, number>>;
  /** The name that the model has, or would have, in our list; null if it cannot be there. */
  listedAs: string | null;
}

const rows: MapRow[] = recorded.rows.map((line) => {
  const [provider = '', model = '', use = '', retiresOn = '', rates = ''] = line.split('|');
  const pairs = rates.split(' ').filter((pair) => pair !== '');
  const parsed = pairs.map((pair) => pair.split('=') as [string, string]);
  return {
    provider,
    model,
    use,
    retiresOn,
    rates: Object.fromEntries(parsed.map(([name, rate]) => [name, Number(rate)])),
    listedAs: listedName(provider, model),
  };
});

function listedName(provider: string, model: string): string | null {
  if (provider === 'bedrock' || provider === 'bedrock_converse') return bedrockName(model);
  if (provider.startsWith('vertex_ai')) return `vertex/${model.replace(/^vertex_ai\//, '')}`;
  if (provider.startsWith('azure')) return `foundry/${model.replace(/^azure(?:_ai)?\/(?:global\/)?/, '')}`;
  if (provider === 'bedrock_mantle') return null;
  const name = model.replace(new RegExp(`^${provider}/`), '');
  return provider === 'minimax' ? name.toLowerCase() : name;
}

/** The map has the prices of us-east-1 under names without a place: where it has both, they are equal. */
function bedrockName(model: string): string | null {
  if (model.startsWith('bedrock/claude_platform/')) return model.slice('bedrock/claude_platform/'.length);
  if (/^bedrock\/[a-z-]+-\d\/[^/]+$/.test(model)) return model;
  const name = model.replace(/^bedrock\//, '');
  if (name.includes('/')) return null;
  return IN_GEOGRAPHY.test(name) ? `bedrock/${name}` : `bedrock/us-east-1/${name}`;
}

interface Rule {
  reason: string;
  holds(row: MapRow): boolean;
}

const of = (providers: RegExp, models: RegExp) => (row: MapRow) =>
  providers.test(row.provider) && models.test(row.model);
const CLOUDS = /^(?:azure|bedrock|vertex)/;
const BEDROCK = /^bedrock(?:_converse)?$/;

/** Why rows of the map are not in our list. The first that holds is counted. */
const OMITTED: readonly Rule[] = [
  {
    reason:
      'other uses than text conversations and embeddings, of which only the latest of OpenAI, and the transcription of Mistral, are listed',
    holds: ({ use }) => !['chat', 'responses', 'embedding'].includes(use),
  },
  { reason: 'retired by the day of the map', holds: ({ retiresOn }) => retiresOn !== '' && retiresOn <= mapDay },
  {
    reason: 'no rate per token, or zero: unknown, free, or priced by seconds, sessions or characters',
    holds: ({ rates, use }) => !rates['input'] || (use !== 'embedding' && !rates['output']),
  },
  {
    reason: 'models that hear, speak, show or film in conversations: their other tokens have no rate in ours',
    holds: (row) =>
      of(/./, /audio|tts|-live|omni|-image|realtime|voxtral-small/)(row) && !of(/^openai$/, /^gpt-audio/)(row),
  },
  {
    reason: 'search, research and computer use with fees of their own',
    holds: of(/./, /search|research|computer-use|container/),
  },
  {
    reason: 'names that move between models, or whose model is not named',
    holds: of(
      /./,
      /latest|^azure\/gpt-35-turbo$|gemini-exp|experimental|-exp(?:-|$)|mistral-(?:medium|small|tiny|medium-3)$|vibe-cli|model.router/,
    ),
  },
  { reason: 'fine-tuned models, which are sold under names of their own', holds: of(/^openai$/, /\/?ft:/) },
  {
    reason: 'names that Bedrock does not have: paths of the map, ids of other platforms, ids without a vendor',
    holds: of(BEDROCK, /^bedrock\/invoke\/|@|(?:^|\/)claude-/),
  },
  { reason: 'another endpoint of Bedrock (bedrock-mantle), which no kind calls', holds: of(/^bedrock_mantle$/, /./) },
  {
    reason:
      'Claude and GPT without a geography: Bedrock serves them by inference profiles, and the map has two prices for them',
    holds: of(BEDROCK, /^(?:anthropic\.claude|openai\.gpt-\d)/),
  },
  {
    reason: 'Claude before version 4.1 at a cloud, which its vendor has retired',
    holds: of(CLOUDS, /claude-(?:v\d|instant|3|mythos-preview|opus-4-20250514|sonnet-4-20250514)/),
  },
  {
    reason: 'regions and Data Zones of Azure: the kind foundry has no region, so that no route could have such a cost',
    holds: of(/^azure/, /^azure\/(?:us|eu|apac|us-gov|global-standard)\//),
  },
  {
    reason: 'models of partners at Vertex AI, which the kind vertex does not call',
    holds: (row) => of(/^vertex_ai-(?!anthropic|language|embedding)/, /./)(row) || of(/^vertex/, /xai\/|gemma/)(row),
  },
  {
    reason: 'former and experimental models of Google',
    holds: of(
      /^(?:vertex|gemini)/,
      /medlm|multimodalembedding|0409|text-embedding-large|preview-09-2025|robotics-er-(?:1\.5|2-streaming)|gemma|learnlm/,
    ),
  },
  {
    reason: 'second names, limited access, betas and former generations, for which only the map has a price',
    holds: of(
      /^(?:deepseek|minimax|mistral|openai|xai|zai)$/,
      /deepseek-(?:coder|r1|v3)|MiniMax-M2|mistral\/(?:glm|zai|ministral-3|open-)|-cyber-preview|-law$|ada-002-v2|grok-4\.20-(?:0309|.*(?:beta|gv2))|grok-code-fast|glm-(?:4|5$|5-code|5v)/,
    ),
  },
];

/** Rates that differ from the map's on purpose; the rates named are not compared. */
const DIFFERENT: readonly (Rule & { rates: RegExp })[] = [
  {
    reason: 'a rate of zero for cached prompts is unknown, and costs the input rate',
    rates: /cache/,
    holds: ({ rates }) => Object.entries(rates).some(([name, rate]) => name.includes('cache') && rate === 0),
  },
  {
    reason: 'embeddings have no output, no cache and no tiers',
    rates: /output|cache|^flex|^fast/,
    holds: ({ use }) => use === 'embedding',
  },
  {
    reason: 'images and speech have no text as output',
    rates: /^output$/,
    holds: ({ use }) => use === 'image_generation' || use === 'audio_speech',
  },
  {
    reason: 'speech that is priced by characters has no price for tokens',
    rates: /^input$/,
    holds: ({ rates }) => rates['units.per_million_characters'] !== undefined,
  },
  {
    reason:
      'transcription that is billed by tokens: the map estimates its seconds, and repeats the rate of text for sound',
    rates: /^units/,
    holds: of(/^openai$/, /^gpt-4o-.*transcribe/),
  },
  {
    reason: 'transcription that is billed by the hour has no price for tokens',
    rates: /put$/,
    holds: ({ use, rates }) => use === 'audio_transcription' && rates['input'] === undefined,
  },
  {
    reason:
      'the map has two rates for the fast tier of GPT-5.5 at Azure; the higher, which is that of OpenAI, is listed',
    rates: /^fast/,
    holds: of(/^azure_ai$/, /\/gpt-5\.5(?:-2026|$)/),
  },
  {
    reason: 'a tier without a rate for output is not complete',
    rates: /^flex/,
    holds: ({ rates }) => rates['flex.input'] !== undefined && rates['flex.output'] === undefined,
  },
  {
    reason: 'the flex tier without long-context rates, where the standard one has them, is not complete',
    rates: /^flex/,
    holds: ({ rates }) => rates['long_context.input'] !== undefined && rates['flex.long_context.input'] === undefined,
  },
  {
    reason: 'the kind bedrock sends no sound, so that it has no price there',
    rates: /^units\.audio/,
    holds: of(BEDROCK, /nova/),
  },
  { reason: "xAI's threshold includes its number", rates: /above/, holds: of(/^xai$/, /./) },
  {
    reason: "Gemini has no price for writing to its cache: the map's is that of storage by the hour",
    rates: /cache_write/,
    holds: of(/^(?:vertex|gemini)/, /gemini/),
  },
  {
    reason: 'the map lacks what an hour in the cache costs: twice the input, by the rule of the vendor',
    rates: /^cache_write_1h$/,
    holds: (row) => of(BEDROCK, /claude/)(row) && row.rates['cache_write_1h'] === undefined,
  },
];

/** Names that only our list has, with the reason. */
const OURS_ALONE: readonly [names: RegExp, reason: string][] = [
  [/^vertex\/regional\//, 'Vertex AI charges a tenth more in regions; the map has global prices only'],
  [/claude-(?:fable|mythos)-5-2|gpt-6\.2|gemini-4-(?:carbon|neon)/, 'newer than the map'],
  [
    /^bedrock\/(?:jp\.anthropic\.claude-(?:fable-5|opus-4-6-v1)|(?:au|jp)\.anthropic\.claude-opus-4-5-)/,
    'geographies that the map had in July',
  ],
  [/^devstral-2512$|^minimax-m(?:3\.1|2\.7)/, 'names that only the vendor has'],
];

const list = includedPriceList();
const listedOf = (name: string | null): ListedModel | undefined =>
  name === null ? undefined : list.models.get(list.aliases.get(name) ?? name);

/** Rates of a price by their names in the map's rows. */
function flatRates({ web_search_per_thousand: _, ...price }: ListedModel['price']): Record<string, number> {
  const flatten = (rates: object, prefix: string): [string, number][] =>
    Object.entries(rates).flatMap(([name, rate]): [string, number][] => {
      if (rate === null) return [];
      return typeof rate === 'object' ? flatten(rate, `${prefix}${name}.`) : [[prefix + name, Number(rate)]];
    });
  return Object.fromEntries(flatten(price, ''));
}

/** The service tier of a rate; "" for the standard one. */
const tierOf = (name: string) => /^(?:fast|flex|ultrafast)(?=\.)/.exec(name)?.[0] ?? '';

/** Differences between a row of the map and ours, beyond the rules. */
function differencesOf(row: MapRow, listed: ListedModel): string[] {
  const ignored = DIFFERENT.filter((rule) => rule.holds(row)).map(({ rates }) => rates);
  const ours = flatRates(listed.price);
  // A row of several places has the tiers that any of them has.
  const has = new Set(Object.keys(row.rates).map(tierOf));
  return [...new Set([...Object.keys(row.rates), ...Object.keys(ours)])]
    .filter(
      (name) => has.has(tierOf(name)) && !ignored.some((rates) => rates.test(name)) && row.rates[name] !== ours[name],
    )
    .map((name) => `${row.provider} ${row.model}: ${name} ${row.rates[name]}, listed ${ours[name]}`);
}

const listedRows = rows.filter(({ listedAs }) => listedOf(listedAs) !== undefined);
const missingRows = rows.filter(({ listedAs }) => listedOf(listedAs) === undefined);

test('a flex tier has long-context rates where the standard one has them', () => {
  const partial = [...list.models].filter(
    ([, { price }]) => price.long_context != null && price.flex != null && price.flex.long_context == null,
  );
  expect(partial.map(([name]) => name)).toEqual([]);
});

describe('the price list and a public price map', () => {
  test('have the same rates for each model that both have', () => {
    expect(listedRows.length).toBeGreaterThan(750);
    const differences = listedRows.flatMap((row) => differencesOf(row, listedOf(row.listedAs) as ListedModel));
    expect(differences).toEqual([]);
  });

  test('have the same service tiers; the map has no rates for the fast tier of Claude', () => {
    const inMap = new Set(
      listedRows.flatMap(({ rates, listedAs }) => {
        const name = listedOf(listedAs)?.name;
        return Object.keys(rates).map((rate) => `${name} ${tierOf(rate)}`);
      }),
    );
    const ours = [...list.models.values()].flatMap(({ name, price }) =>
      PRICED_TIERS.filter((tier) => price[tier]).map((tier) => `${name} ${tier}`),
    );
    expect(ours.length).toBeGreaterThan(200);
    expect(ours.filter((tier) => !inMap.has(tier) && !/claude-.* fast$/.test(tier))).toEqual([]);
  });

  test('differ in no model without a reason', () => {
    const unexplained = missingRows.filter((row) => !OMITTED.some((rule) => rule.holds(row)));
    expect(unexplained.map(({ provider, model }) => `${provider} ${model}`)).toEqual([]);
  });

  test('each reason is that of a row', () => {
    const idle = OMITTED.filter(
      (rule) => !missingRows.some((row) => OMITTED.find((first) => first.holds(row)) === rule),
    );
    const unused = DIFFERENT.filter((rule) => !listedRows.some((row) => rule.holds(row)));
    expect([...idle, ...unused].map(({ reason }) => reason)).toEqual([]);
  });

  test('our list has no name that the map lacks without a reason', () => {
    const known = new Set(rows.map(({ listedAs }) => listedAs));
    const names = [...list.models.values()].flatMap(({ name, aliases }) => [name, ...aliases]);
    const alone = names.filter((name) => !known.has(name));
    const hasReason = (name: string) => OURS_ALONE.some(([pattern]) => pattern.test(name));
    expect(alone.filter((name) => !hasReason(name))).toEqual([]);
    expect(OURS_ALONE.filter(([pattern]) => !alone.some((name) => pattern.test(name)))).toEqual([]);
  });

  test('a changed rate, a lacking row and a row too many are noticed', () => {
    const row = listedRows.find(({ model }) => model === 'us.anthropic.claude-opus-5-5') as MapRow;
    const listed = listedOf(row.listedAs) as ListedModel;
    expect(differencesOf(row, { ...listed, price: { ...listed.price, output: '22.1' } })).toEqual([
      'bedrock_converse us.anthropic.claude-opus-5-5: output 22, listed 22.1',
    ]);
    expect(OMITTED.some((rule) => rule.holds(row))).toBe(false);
  });
});
