// Finds which model at a provider a name on its bill means. Bills have billing names, such as "Claude4.6Sonnet" for
// anthropic.claude-sonnet-4-6-20260501-v1:0.

/**
 * By name on the bill: the operator's own mapping, the same name, or the only model with the same words and numbers. Another
 * name stands for itself: a likely match could hide traffic that did not pass this gateway.
 */
export function matchModels(
  onBill: Iterable<string>,
  ours: readonly string[],
  mapping: Readonly<Record<string, string>>,
): Map<string, string> {
  const byWords = new Map<string, string | null>();
  for (const model of ours) {
    const words = wordsOf(model);
    byWords.set(words, byWords.has(words) ? null : model);
  }
  const known = new Set(ours);
  const found = new Map<string, string>();
  for (const name of onBill) {
    if (Object.hasOwn(mapping, name)) found.set(name, mapping[name] as string);
    else if (name === '' || known.has(name)) found.set(name, name);
    else found.set(name, byWords.get(wordsOf(name)) ?? name);
  }
  return found;
}

const VENDORS =
  /^(?:(?:us|eu|apac|jp|au|ca|global)[.-])?(?:anthropic|amazon|meta|mistral|cohere|ai21|openai|deepseek|qwen)\./;

/** Words and numbers in any order, without vendor, day and revision: "4 6 claude sonnet". */
function wordsOf(name: string): string {
  const plain = name
    .toLowerCase()
    .replace(VENDORS, '')
    .replace(/[-@]?20\d{6}(?=$|[-:@])|-20\d\d-\d\d-\d\d$/g, '')
    .replace(/-v\d+(?::\d+)?$|@default$/g, '');
  const words: string[] = plain.match(/[a-z]+|\d+/g) ?? [];
  return words.sort().join(' ');
}
