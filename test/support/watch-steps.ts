// Counts the work that blocks the event loop, between two of its turns: what JSON is parsed and written, and texts in which
// characters are replaced one by one. It has no tests of its own.

export interface Step {
  /** Characters of JSON parsed and written. */
  characters: number;
  /** Values in it. */
  values: number;
  /** Characters of texts in which each occurrence of something was replaced. */
  replaced: number;
}

/** The most of each in one turn while `work` runs, in this process. */
export async function longestStepOf(work: () => Promise<unknown>): Promise<Step> {
  const most: Step = { characters: 0, values: 0, replaced: 0 };
  const current: Step = { characters: 0, values: 0, replaced: 0 };
  const { parse, stringify } = JSON;
  const { replaceAll } = String.prototype;
  const endStep = () => {
    for (const name of Object.keys(most) as (keyof Step)[]) {
      most[name] = Math.max(most[name], current[name]);
      current[name] = 0;
    }
  };
  JSON.parse = (text: string, ...rest: []) => {
    const value = parse(text, ...rest);
    current.characters += text.length;
    current.values += valuesOf(value);
    return value;
  };
  JSON.stringify = ((value: unknown, ...rest: []) => {
    const text = stringify(value, ...rest);
    current.characters += text?.length ?? 0;
    return text;
  }) as typeof stringify;
  String.prototype.replaceAll = function (this: string, ...given: [string, string]) {
    current.replaced += this.length;
    return (replaceAll as (this: string, ...given: [string, string]) => string).apply(this, given);
  } as typeof replaceAll;
  let isWatching = true;
  const watch = () => {
    endStep();
    if (isWatching) setImmediate(watch);
  };
  watch();
  try {
    await work();
  } finally {
    isWatching = false;
    endStep();
    Object.assign(JSON, { parse, stringify });
    String.prototype.replaceAll = replaceAll;
  }
  return most;
}

function valuesOf(whole: unknown): number {
  const rest = [whole];
  let count = 0;
  for (let one = rest.pop(); rest.length > 0 || one !== undefined; one = rest.pop()) {
    count++;
    if (typeof one === 'object' && one !== null) for (const inside of Object.values(one)) rest.push(inside);
  }
  return count;
}
