// Parses Prometheus's text format as strictly as Prometheus does.

/** Value of each series, by its name with labels as written. */
export type Samples = Record<string, number>;

const SAMPLE = /^([a-zA-Z_:][\w:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (-?\d[\d.e+-]*|NaN|\+Inf)$/;

/** Throws for an invalid line, a repeated series, or a series whose family was not declared before it. */
export function readSamples(text: string): Samples {
  const samples: Samples = {};
  let family = '';
  for (const line of text.split('\n')) {
    if (line.startsWith('# TYPE ')) family = line.split(' ')[2] ?? '';
    if (line === '' || line.startsWith('# ')) continue;
    const match = SAMPLE.exec(line);
    if (match === null) throw new Error(`no sample: ${line}`);
    const [, name = '', labels = '', value = ''] = match;
    if (!new RegExp(`^${family}(_bucket|_sum|_count)?$`).test(name)) throw new Error(`${name} is not of ${family}`);
    if (samples[name + labels] !== undefined) throw new Error(`twice: ${name + labels}`);
    samples[name + labels] = Number(value);
  }
  return samples;
}

/** Family name → its type, help and label names. */
export function readFamilies(text: string): Map<string, { type: string; help: string; labels: Set<string> }> {
  const families = new Map<string, { type: string; help: string; labels: Set<string> }>();
  for (const [, name = '', help = ''] of text.matchAll(/^# HELP (\S+) (.*)$/gm))
    families.set(name, { type: '', help, labels: new Set() });
  for (const [, name = '', type = ''] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    const family = families.get(name);
    if (family !== undefined) family.type = type;
  }
  for (const series of Object.keys(readSamples(text))) {
    const name = /^[^{]+/.exec(series)?.[0] ?? '';
    const family = families.get(name) ?? families.get(name.replace(/_(?:bucket|sum|count)$/, ''));
    for (const [, label = ''] of series.matchAll(/[{,]([a-zA-Z_]\w*)="/g)) family?.labels.add(label);
  }
  return families;
}
