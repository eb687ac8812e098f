// Records the public price map for the comparison with our list. The argument is its file, from a package of LiteLLM:
// pip download --no-deps litellm==VERSION; unzip -p litellm-*.whl litellm/model_prices_and_context_window_backup.json
// Usage: sh bin/with-bun all test/unit/catalog/price-map/record.ts FILE VERSION DATE

import { join } from 'node:path';

/** Providers of the map whose models a family of our list may have. */
const PROVIDERS =
  /^(?:anthropic|azure|azure_ai|bedrock|bedrock_converse|bedrock_mantle|deepseek|gemini|minimax|mistral|moonshot|openai|vertex_ai|vertex_ai-[a-z_-]+|xai|zai)$/;

/** Rates per token by their names in our list. */
const RATES = {
  input: 'input_cost_per_token',
  output: 'output_cost_per_token',
  cache_read: 'cache_read_input_token_cost',
  cache_write_5m: 'cache_creation_input_token_cost',
  cache_write_1h: 'cache_creation_input_token_cost_above_1hr',
};

/** Rates of images and sound beside those per token of text. */
const UNITS = {
  audio_input: 'input_cost_per_audio_token',
  image_input: 'input_cost_per_image_token',
  image_output: 'output_cost_per_image_token',
  audio_output: 'output_cost_per_audio_token',
  per_million_characters: 'input_cost_per_character',
};
/** Rates of models for messages, whose images have none of their own. */
const SOUND = { audio_input: UNITS.audio_input, audio_output: UNITS.audio_output };
const USES_WITH_UNITS: readonly unknown[] = ['image_generation', 'audio_speech', 'audio_transcription'];

type Entry = Readonly<Record<string, unknown>>;

/** USD per million tokens, as a decimal without an exponent. */
function perMillion(rate: number): string {
  return Number((rate * 1e6).toPrecision(12))
    .toFixed(9)
    .replace(/\.?0+$/, '');
}

/** Endings of the map's names for the rates of service tiers, by the names of tiers in our list. */
const TIERS = { '': '', 'fast.': '_priority', 'flex.': '_flex', 'ultrafast.': '_ultrafast' };

function ratesOf(entry: Entry): string[] {
  return Object.entries(TIERS).flatMap(([tier, ending]) => ratesOfTier(entry, tier, ending));
}

function ratesOfTier(entry: Entry, tier: string, ending: string): string[] {
  const found: string[] = [];
  const above = new RegExp(`^input_cost_per_token(_above_(\\d+)k_tokens)${ending}$`);
  const add = (prefix: string, suffix: string) => {
    for (const [name, member] of Object.entries(RATES)) {
      const rate = entry[member + suffix];
      if (typeof rate === 'number') found.push(`${tier}${prefix}${name}=${perMillion(rate)}`);
    }
  };
  add('', ending);
  const units: Readonly<Record<string, string>> = USES_WITH_UNITS.includes(entry['mode'])
    ? UNITS
    : entry['mode'] === 'chat'
      ? SOUND
      : {};
  if (tier === '')
    for (const [name, member] of Object.entries(units)) {
      const rate = entry[member];
      if (typeof rate === 'number' && rate > 0) found.push(`units.${name}=${perMillion(rate)}`);
    }
  const perSecond = entry['input_cost_per_second'];
  if (tier === '' && entry['mode'] === 'audio_transcription' && typeof perSecond === 'number')
    found.push(`units.per_hour=${perMillion(Number(((perSecond * 3_600) / 1e6).toPrecision(4)))}`);
  for (const member of Object.keys(entry)) {
    const [, band, thousands] = above.exec(member) ?? [];
    if (band === undefined) continue;
    found.push(`${tier}long_context.above=${thousands}000`);
    add('long_context.', band + ending);
  }
  return found;
}

const [file = '', version = '', date = ''] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+$/.test(version) || !/^\d{4}-\d\d-\d\d$/.test(date))
  throw new Error('usage: record.ts FILE VERSION DATE');
const map = (await Bun.file(file).json()) as Record<string, Entry>;
const lines = Object.entries(map)
  .filter(([, { litellm_provider: provider }]) => PROVIDERS.test(String(provider)))
  .map(([name, entry]) => {
    const { litellm_provider: provider, mode = '', deprecation_date: retires = '' } = entry;
    return [provider, name, mode, retires, ratesOf(entry).join(' ')].join('|');
  })
  .sort();
const origin = `the price map of LiteLLM ${version} (MIT License): its rates per token, in USD per million`;
const recorded = { day: date, origin, members: 'provider|name|use|date of retirement|rates', rows: lines };
await Bun.write(join(import.meta.dir, 'price-map.json'), `${JSON.stringify(recorded, null, 2)}\n`);
