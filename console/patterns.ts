// Matches model names against patterns as the service does: `*` matches any characters.

/** Takes at most the product of the two lengths in steps. */
export function matchesPattern(name: string, pattern: string): boolean {
  let [inPattern, inName, star, from] = [0, 0, -1, 0];
  while (inName < name.length) {
    if (pattern[inPattern] === '*') {
      star = inPattern++;
      from = inName;
    } else if (pattern[inPattern] === name[inName]) {
      inPattern++;
      inName++;
    } else if (star >= 0) {
      inPattern = star + 1;
      inName = ++from;
    } else return false;
  }
  while (pattern[inPattern] === '*') inPattern++;
  return inPattern === pattern.length;
}

export function matchesAny(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matchesPattern(name, pattern));
}
