// Fixed tags as texts of a form, such as "cost_centre=4711". Pure.

export type Tags = Readonly<Record<string, string>>;

/** A later text replaces an earlier one with the same name. The API refuses a text without a value. */
export function tagsOf(texts: readonly string[]): Tags {
  return Object.fromEntries(
    texts.map((text) => {
      const [name = '', ...value] = text.split('=');
      return [name.trim(), value.join('=').trim()];
    }),
  );
}

export function tagTexts(tags: Tags): string[] {
  return Object.entries(tags).map(([name, value]) => `${name}=${value}`);
}
