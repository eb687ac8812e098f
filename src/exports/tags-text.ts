// The tags of a message as JSON, in the order of their names, so that equal tags are equal texts.

/** null without tags. */
export function tagsText(tags: Readonly<Record<string, string>>): string | null {
  const names = Object.keys(tags).sort();
  return names.length === 0 ? null : JSON.stringify(Object.fromEntries(names.map((name) => [name, tags[name]])));
}
